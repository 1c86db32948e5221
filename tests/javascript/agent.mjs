// agent.mjs OPTIONS: the real deepagents with a scripted model, in the box that OPTIONS (JSON, of Sandbox.open) make.
import assert from 'node:assert/strict';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage } from '@langchain/core/messages';
import { createDeepAgent } from 'deepagents';
import { SandlotSandbox } from 'sandlot/deepagents';

const meet = (n) => `touch meet.${n}; until [ $(ls meet.* | wc -l) = 8 ]; do sleep 0.05; done; echo met ${n}`;
const script = [
    [['write_file', { file_path: '/notes/hello.sh', content: 'echo "hello $1"\necho done\n' }]],
    [['execute', { command: 'sh /notes/hello.sh agent; seq 60000' }]], // so much that it is offloaded
    [['grep', { pattern: 'done', path: '/notes', output_mode: 'content' }]],
    [['edit_file', { file_path: '/notes/hello.sh', old_string: 'hello', new_string: 'goodbye' }]],
    [['read_file', { file_path: '/notes/hello.sh' }]],
    [['read_file', { file_path: '/large_tool_results/call-1-0.txt', offset: 50000, limit: 2 }]],
    [['execute', { command: 'printf "\\211PNG\\r\\n\\032\\n" >/notes/dot.png' }]],
    [['read_file', { file_path: '/notes/dot.png' }]],
    Array.from({ length: 8 }, (_, n) => ['execute', { command: meet(n) }]),
];

/** Calls the tools of the script in turn, whatever they answer. */
class ScriptedModel extends BaseChatModel {
    turn = 0;

    _llmType() {
        return 'scripted';
    }

    bindTools() {
        return this;
    }

    async _generate() {
        const turn = this.turn++;
        const calls = (script[turn] ?? []).map(([name, args], n) => ({ name, args, id: `call-${turn}-${n}`, type: 'tool_call' }));
        return { generations: [{ text: '', message: new AIMessage({ content: calls.length ? '' : 'finished', tool_calls: calls }) }] };
    }
}

const backend = await SandlotSandbox.open(JSON.parse(process.argv[2]));
try {
    const agent = createDeepAgent({ model: new ScriptedModel({}), backend });
    const { messages } = await agent.invoke({ messages: [{ role: 'user', content: 'go' }] }, { recursionLimit: 200 });
    const answers = new Map(messages.filter((message) => message.getType() === 'tool').map((message) => [message.tool_call_id, message.content]));
    const says = (id, wanted) => assert.match(JSON.stringify(answers.get(id) ?? 'no answer'), wanted, id);

    says('call-0-0', /hello\.sh/);
    says('call-1-0', /large_tool_results/);
    says('call-2-0', /echo done/);
    says('call-3-0', /hello\.sh/);
    says('call-4-0', /goodbye \$1/);
    says('call-5-0', /50000/); // the lines that did not fit, read again
    says('call-7-0', /image\/png/);
    for (let n = 0; n < 8; n++) says(`call-8-${n}`, new RegExp(`met ${n}`));
    assert.equal(messages.at(-1).content, 'finished');
} finally {
    await backend.close();
}
