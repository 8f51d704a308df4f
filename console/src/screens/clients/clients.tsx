import { Empty, Page } from '../../design/page.tsx';

export default function Clients() {
  return (
    <Page title="Clients" calls={[]}>
      <Empty icon="bell" title="To be built" />
    </Page>
  );
}
