import { Empty, Page } from '../../design/page.tsx';

export default function Hooks() {
  return (
    <Page title="Hooks" calls={[]}>
      <Empty icon="bell" title="To be built" />
    </Page>
  );
}
