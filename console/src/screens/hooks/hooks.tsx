import type { ScreenProps } from '../../router.ts';
import { HookList } from './hook-list.tsx';
import { NewHook } from './new-hook.tsx';
import { OneHook } from './one-hook.tsx';
import './hooks.css';

/** Hooks: all of them, one of them, or a new one. */
export default function Hooks({ rest: [id] }: ScreenProps) {
  if (id === undefined) return <HookList />;
  return id === 'new' ? <NewHook /> : <OneHook key={id} id={id} />;
}
