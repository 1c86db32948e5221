// Node's own module http. An import of it by its name reads all that it has, of which WebSocket loads the whole of fetch: a third of the
// time that an emulator takes to start.
export default process.getBuiltinModule('node:http');
