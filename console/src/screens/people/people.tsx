import { Empty, Page } from '../../design/page.tsx';

export default function People() {
  return (
    <Page title="People" calls={[]}>
      <Empty icon="bell" title="To be built" />
    </Page>
  );
}
