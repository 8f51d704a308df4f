import { type Behaviour, bare, rows } from '../behaviour.ts';
import type { Visit } from '../connection.ts';

const redirect = (says: string, code: number, where: string | ((visit: Visit) => string)): Omit<Behaviour, 'slug'> => ({
  says,
  sees: code,
  act: (visit) => visit.end(bare(`${code} Elsewhere`, `Location: ${typeof where === 'string' ? where : where(visit)}`)),
});

/** Answered 200 whatever the script: whoever follows is seen there, and comes to a success that it should not. */
export const FOLLOWED = '/200?followed';

/** The same receiver. */
const onward = ({ asked }: Visit) => `http://${asked?.headers.host ?? 'localhost'}${FOLLOWED}`;

export const redirects: readonly Behaviour[] = rows({
  ...Object.fromEntries(
    [301, 302, 303, 307, 308].map((code) => [
      `redirect-${code}`,
      redirect(`Answers ${code} with the address of a 200 on the same receiver.`, code, onward),
    ]),
  ),
  'redirect-loop': redirect('Answers 302 with its own address.', 302, ({ asked }) => asked?.path ?? '/'),
  'redirect-file': redirect('Answers 302 with `file:///etc/passwd`.', 302, 'file:///etc/passwd'),
  'redirect-localhost': redirect('Answers 307 with an address on `localhost`.', 307, 'http://localhost:9/'),
  'redirect-metadata': redirect(
    'Answers 307 with the address where clouds keep the secrets of a machine.',
    307,
    'http://169.254.169.254/latest/meta-data/',
  ),
  'redirect-scheme': redirect('Answers 301 with a `gopher:` address.', 301, 'gopher://localhost:25/_HELO'),
  'redirect-nowhere': redirect('Answers 302 with a `Location` that is no address.', 302, 'http://['),
  'redirect-without': {
    says: 'Answers 302 without a `Location`.',
    sees: 302,
    act: (visit) => visit.end(bare('302 Found')),
  },
});
