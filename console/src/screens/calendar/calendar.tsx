import { Empty, Page } from '../../design/page.tsx';

export default function Calendar() {
  return (
    <Page title="Calendar" calls={[]}>
      <Empty icon="bell" title="To be built" />
    </Page>
  );
}
