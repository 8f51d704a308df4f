import { once } from 'node:events';

/** What a process of Node is started with that is to be inspected at a port. */
export const inspectedAt = (port: number) => ({ NODE_OPTIONS: `--inspect=127.0.0.1:${port}` });

/** Has such a process collect all its garbage, and resolves when it has. */
export async function collectGarbage(port: number): Promise<void> {
  const [target] = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as { webSocketDebuggerUrl: string }[];
  if (target === undefined) throw new Error(`nothing is inspected at port ${port}`);
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await once(socket, 'open');
  socket.send(JSON.stringify({ id: 1, method: 'HeapProfiler.collectGarbage' }));
  const [answer] = (await once(socket, 'message')) as [MessageEvent];
  socket.close();
  const { error } = JSON.parse(String(answer.data));
  if (error !== undefined) throw new Error(`garbage is not collected: ${answer.data}`);
}
