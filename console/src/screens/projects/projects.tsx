import { Empty, Page } from '../../design/page.tsx';

export default function Projects() {
  return (
    <Page title="Projects" calls={[]}>
      <Empty icon="bell" title="To be built" />
    </Page>
  );
}
