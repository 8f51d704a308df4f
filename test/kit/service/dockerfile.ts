import { execFile } from 'node:child_process';
import { chownSync, cpSync, existsSync, globSync, mkdirSync, statSync } from 'node:fs';
import { basename, join, normalize } from 'node:path';
import { promisify } from 'node:util';

const execFileAsync = promisify(execFile);

/** An instruction: its keyword, such as `COPY` (`word`), and the remaining text of its line (`rest`). */
type Instruction = { readonly word: string; readonly rest: string };

/** The configuration of a built image. */
export type BuiltImage = {
  /** The folder that represents the root of the file system. */
  readonly root: string;
  readonly workdir: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly user: string;
  /** Entry point and arguments. */
  readonly command: readonly string[];
  readonly healthcheck: readonly string[];
  /** The text of the EXPOSE instruction: a port. */
  readonly exposed: string;
};

/** Parses the instructions of a Dockerfile. Continued lines are joined. */
export function parseDockerfile(text: string): Instruction[] {
  return text
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => ({ word: line.split(' ', 1)[0] ?? '', rest: line.slice(line.indexOf(' ') + 1) }));
}

/** Whether a `.dockerignore` that starts with `*` includes a path. */
export function isInBuildContext(ignore: string, path: string): boolean {
  const included = ignore.split('\n').filter((line) => line.startsWith('!'));
  return included.map((line) => line.slice(1)).some((one) => path === one || path.startsWith(`${one}/`));
}

/**
 * Builds a Dockerfile without a container engine, each stage in a folder. Supports COPY, `RUN npm …` and
 * `RUN install -d …`; any other build step is an error. Returns the image of the last stage.
 *
 * @param context the build context; paths excluded by its `.dockerignore` cannot be copied
 * @param owner the numeric id that owns the folders made for the user of the image
 */
export async function buildDockerfile(
  text: string,
  {
    context,
    ignore,
    folder,
    environment,
    owner,
  }: {
    context: string;
    ignore: string;
    folder: string;
    environment: NodeJS.ProcessEnv;
    owner: number | undefined;
  },
): Promise<BuiltImage> {
  const stages = new Map<string, string>();
  let root = folder;
  const image = { workdir: '/', environment: {} as Record<string, string>, user: 'root', exposed: '' };
  let entrypoint: string[] = [];
  let args: string[] = [];
  let healthcheck: string[] = [];
  const toStagePath = (path: string) => join(root, path.startsWith('/') ? path : join(image.workdir, path));
  for (const { word, rest } of parseDockerfile(text)) {
    const words = rest.split(/\s+/);
    switch (word) {
      case 'FROM': {
        const name = words[2] ?? `stage ${stages.size}`;
        root = join(folder, name);
        stages.set(name, root);
        Object.assign(image, { workdir: '/', environment: {}, user: 'root' });
        break;
      }
      case 'WORKDIR':
        image.workdir = words[0] ?? '/';
        mkdirSync(toStagePath('.'), { recursive: true });
        break;
      case 'COPY':
        runCopy(words);
        break;
      case 'RUN':
        await runCommand(words);
        break;
      case 'ENV':
        image.environment[rest.slice(0, rest.indexOf('='))] = rest.slice(rest.indexOf('=') + 1);
        break;
      case 'USER':
        image.user = rest;
        break;
      case 'EXPOSE':
        image.exposed = rest;
        break;
      case 'ENTRYPOINT':
        entrypoint = JSON.parse(rest);
        break;
      case 'CMD':
        args = JSON.parse(rest);
        break;
      case 'HEALTHCHECK':
        healthcheck = JSON.parse(rest.slice(rest.indexOf('CMD ') + 4));
        break;
      case 'LABEL':
      case 'VOLUME':
      case 'STOPSIGNAL':
        break;
      default:
        throw new Error(`the Dockerfile has a step that is not known here: ${word}`);
    }
  }
  return { ...image, root, command: [...entrypoint, ...args], healthcheck };

  function runCopy(words: readonly string[]): void {
    const stage = words[0]?.startsWith('--from=') ? stages.get(words[0].slice('--from='.length)) : undefined;
    const paths = words.filter((one) => !one.startsWith('--'));
    const destination = paths.at(-1) ?? '';
    for (const from of paths.slice(0, -1)) {
      const sourcePaths =
        stage === undefined ? globSync(from, { cwd: context }).map((one) => join(context, one)) : [join(stage, from)];
      if (sourcePaths.length === 0) throw new Error(`COPY: there is no ${from}`);
      if (stage === undefined && !isInBuildContext(ignore, normalize(from)))
        throw new Error(`.dockerignore keeps ${from} back`);
      for (const one of sourcePaths)
        cpSync(
          one,
          destination.endsWith('/') ? join(toStagePath(destination), basename(one)) : toStagePath(destination),
          { recursive: true },
        );
    }
  }

  async function runCommand(words: readonly string[]): Promise<void> {
    const [program = '', ...rest] = words;
    if (program === 'npm') {
      await execFileAsync('npm', rest, { cwd: toStagePath('.'), env: environment, maxBuffer: 2 ** 24 });
      return;
    }
    if (program !== 'install' || rest[0] !== '-d') throw new Error(`RUN ${words.join(' ')} is not known here`);
    const createdFolder = toStagePath(words.at(-1) ?? '');
    mkdirSync(createdFolder, { recursive: true, mode: Number.parseInt(rest[rest.indexOf('-m') + 1] ?? '', 8) });
    if (owner !== undefined) chownSync(createdFolder, owner, owner);
    if (!existsSync(createdFolder) || !statSync(createdFolder).isDirectory())
      throw new Error(`${createdFolder} was not made`);
  }
}
