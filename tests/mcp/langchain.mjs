// langchain.mjs COMMAND...: an agent of LangChain with a scripted model. What the tools answer must reach the model as it is.
import { PNG, attempt, done } from './harness.mjs'
import { MultiServerMCPClient } from '@langchain/mcp-adapters'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage } from '@langchain/core/messages'

const [command, ...args] = process.argv.slice(2)

// Calls the tools of its script in turn, whatever they answer, and keeps what it was given to read.
class ScriptedModel extends BaseChatModel {
    constructor(script) {
        super({})
        this.script = script
        this.read = []
    }
    _llmType() {
        return 'scripted'
    }
    bindTools() {
        return this
    }
    async _generate(messages) {
        const last = messages.at(-1)
        if (last.getType() === 'tool') this.read.push(last.content)
        const [name, input] = this.script[this.read.length] ?? []
        const calls = name ? [{ name, args: input, id: `call-${this.read.length}`, type: 'tool_call' }] : []
        return { generations: [{ text: '', message: new AIMessage({ content: 'next', tool_calls: calls }) }] }
    }
}

const client = new MultiServerMCPClient({ mcpServers: { sandlot: { transport: 'stdio', command, args } } })
const steps = [
    ['write_file', { file_path: 'a "b".txt', content: 'one\ntwo\n' }, 'Updated file a "b".txt'],
    ['read_file', { file_path: 'a "b".txt' }, '     1  one\n     2  two'],
    ['execute', { command: 'echo "{\\"k\\": 1}"; exit 3' }, '{"k": 1}\n[Command failed with exit code 3]'],
    ['execute', { command: `echo ${PNG} | base64 -d >dot.png` }, '[Command succeeded with exit code 0]']
]
const model = new ScriptedModel([...steps, ['read_file', { file_path: 'dot.png' }]])

await attempt('LangChain: an agent works through the script', async () => {
    const agent = createReactAgent({ llm: model, tools: await client.getTools() })
    await agent.invoke({ messages: [{ role: 'user', content: 'go' }] }, { recursionLimit: 50 })
    return [model.read.length === steps.length + 1, model.read]
})
for (const [i, [tool, , wanted]] of steps.entries())
    await attempt(`LangChain: the model reads exactly the text of ${tool} (${i + 1})`, () => {
        const content = model.read[i]
        return [content === wanted, content]
    })
await attempt('LangChain: the model sees an image', () => {
    const blocks = model.read.at(-1)
    return [blocks.some(block => block.type.startsWith('image') && JSON.stringify(block).includes(PNG)), blocks]
})
await client.close()
done()
