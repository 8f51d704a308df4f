import { Empty, Page } from '../../design/page.tsx';

export default function Activity() {
  return (
    <Page title="Activity" calls={[]}>
      <Empty icon="bell" title="To be built" />
    </Page>
  );
}
