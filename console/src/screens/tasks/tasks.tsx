import { Empty, Page } from '../../design/page.tsx';

export default function Tasks() {
  return (
    <Page title="Tasks" calls={[]}>
      <Empty icon="bell" title="To be built" />
    </Page>
  );
}
