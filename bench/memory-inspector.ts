import { once } from 'node:events';

/** Returns environment variables that make a Node process listen for an inspector on a port. */
export const inspectorEnvironment = (port: number) => ({ NODE_OPTIONS: `--inspect=127.0.0.1:${port}` });

/** Forces a full garbage collection in a process and waits for its end. */
export async function collectGarbage(port: number): Promise<void> {
  const [target] = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as { webSocketDebuggerUrl: string }[];
  if (target === undefined) throw new Error(`nothing is inspected at port ${port}`);
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await once(socket, 'open');
  socket.send(JSON.stringify({ id: 1, method: 'HeapProfiler.collectGarbage' }));
  const [response] = (await once(socket, 'message')) as [MessageEvent];
  socket.close();
  const { error } = JSON.parse(String(response.data));
  if (error !== undefined) throw new Error(`no garbage collection: ${response.data}`);
}
