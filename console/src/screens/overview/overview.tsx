import { Empty, Page } from '../../design/page.tsx';

export default function Overview() {
  return (
    <Page title="Overview" calls={[]}>
      <Empty icon="bell" title="To be built" />
    </Page>
  );
}
