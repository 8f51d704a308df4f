import type { ScreenProps } from '../../app/router.ts';
import { OneHook } from './hook-detail.tsx';
import { HookList } from './hook-list.tsx';
import { NewHook } from './new-hook.tsx';
import './hooks.css';

/** Routes of the hooks screen: list, detail, new. */
export default function Hooks({ rest: [id] }: ScreenProps) {
  if (id === undefined) return <HookList />;
  return id === 'new' ? <NewHook /> : <OneHook key={id} id={id} />;
}
