import { useState } from 'preact/hooks';
import type { Client } from '../../../../src/sdk/clients.ts';
import { client } from '../../client.ts';
import { Ask } from '../../design/dialog.tsx';
import { tell } from '../../design/toast.tsx';
import { attempt } from '../../load.ts';

type Ends = {
  /** Shows that it is gone. */
  readonly onGone: (client: Client) => void;
  /** Shows that it is there again, under another id. */
  readonly onBack: (client: Client) => void;
};

/** Deletes clients: at once and with a way back where no project is for one, else after a question. */
export function useDeleteClient({ onGone, onBack }: Ends) {
  const [asked, setAsked] = useState<{ readonly record: Client; readonly count: number }>();
  const remove = async (record: Client, said: { readonly undo?: () => void }) => {
    if (!(await attempt(() => client.clients.delete(record.client_id)))) return;
    onGone(record);
    tell(`“${record.client_name}” deleted.`, said);
  };
  const begin = (record: Client) =>
    attempt(async () => {
      const { paging } = await client.projects.list({ client_id: record.client_id, limit: 1 });
      if (paging.total_records > 0) setAsked({ record, count: paging.total_records });
      else await remove(record, { undo: () => void attempt(async () => onBack(await createAgain(record))) });
    });
  const question = asked !== undefined && (
    <Ask
      title={`Delete “${asked.record.client_name}”?`}
      yes="Delete"
      onYes={() => void remove(asked.record, {})}
      onClose={() => setAsked(undefined)}
    >
      {asked.count === 1 ? 'Its project stays' : `Its ${asked.count} projects stay`}, without a client. This cannot be
      taken back. On hold, nothing would be lost.
    </Ask>
  );
  return { begin, question };
}

/** A deleted client, made anew with what it was. */
function createAgain({ client_name, email, tel, fax, mobile, website, ...fields }: Client): Promise<Client> {
  const { address, city, state, postcode, country, notes, background, active } = fields;
  return client.clients.create({
    ...{ client_name, email, tel, fax, mobile, website, address, city, state, postcode, country },
    ...{ notes, background, active },
  });
}
