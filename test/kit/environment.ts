/** Of this repository, of the npm and the node:test that run the tests, and what would send a command to another folder. */
const OURS = /^(npm_|NODE_(?!EXTRA_CA_CERTS$|COMPILE_CACHE$)|CARILLON_|INIT_CWD$|XDG_)/i;

/**
 * What a process of its own inherits as if from a newcomer's shell, with what Node has compiled before: hundreds of
 * processes of one run would else compile the same source.
 */
export const inherited: Readonly<Record<string, string | undefined>> = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !OURS.test(name)),
);
