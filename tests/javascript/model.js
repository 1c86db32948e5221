// The chat model of the README's program: it calls two tools, and says what the second one answered.
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage } from '@langchain/core/messages';

const script = [
    { name: 'write_file', args: { file_path: '/workspace/hello.sh', content: 'echo hello from the box\n' }, id: '1', type: 'tool_call' },
    { name: 'execute', args: { command: 'sh /workspace/hello.sh' }, id: '2', type: 'tool_call' },
];

class ScriptedModel extends BaseChatModel {
    turn = 0;

    _llmType() {
        return 'scripted';
    }

    bindTools() {
        return this;
    }

    async _generate(messages) {
        const call = script[this.turn++];
        const message = new AIMessage(call ? { content: '', tool_calls: [call] } : { content: messages.at(-1).content });
        return { generations: [{ text: '', message }] };
    }
}

export const model = new ScriptedModel({});
