import { useState } from 'preact/hooks';
import {
  type ApiKey,
  type Permission,
  type PermissionArea,
  permissionAreas,
} from '../../../../packages/sdk/src/keys.ts';
import type { Role } from '../../../../packages/sdk/src/people.ts';
import { client } from '../../app/client.ts';
import { useSubmission } from '../../app/use-query.ts';
import { Note } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { showToast } from '../../components/toast.tsx';

type PermissionGridProps = {
  readonly chosen: readonly Permission[];
  /** Permissions that can be chosen; all other permissions are disabled. */
  readonly among: readonly Permission[];
  readonly onChange: (chosen: readonly Permission[]) => void;
};

const accessModeNames: Readonly<Record<AccessMode, string>> = { read: 'Read', write: 'Change' };

/** Editor for the permissions of a key: one row per area, with one checkbox for read and one for write. */
export function PermissionGrid({ chosen, among, onChange }: PermissionGridProps) {
  const toggle = (permission: Permission, isOn: boolean) =>
    onChange(among.filter((one) => (one === permission ? isOn : chosen.includes(one))));
  const presets = [
    { text: 'All', permissions: among },
    { text: 'Read only', permissions: among.filter((one) => one.endsWith(':read')) },
    { text: 'None', permissions: [] },
  ];
  return (
    <fieldset class="grants">
      <legend class="row spread">
        <span>What it may do</span>
        <span class="row">
          {presets.map(({ text, permissions }) => (
            <Button key={text} variant="quiet" onClick={() => onChange(permissions)}>
              {text}
            </Button>
          ))}
        </span>
      </legend>
      <table>
        <thead>
          <tr>
            <th scope="col">
              <span class="hidden-text">Area</span>
            </th>
            {accessModes.map((way) => (
              <th key={way} scope="col">
                {accessModeNames[way]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {permissionAreas.map((area) => (
            <tr key={area}>
              <th scope="row">
                {areaNames[area].name} <span class="small soft">{areaNames[area].description}</span>
              </th>
              {accessModes.map((way) => {
                const permission: Permission = `${area}:${way}`;
                return (
                  <td key={way}>
                    <input
                      type="checkbox"
                      aria-label={`${accessModeNames[way]} ${areaNames[area].name}`}
                      checked={chosen.includes(permission)}
                      disabled={!among.includes(permission)}
                      onChange={(event) => toggle(permission, event.currentTarget.checked)}
                    />
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </fieldset>
  );
}

const accessModes = ['read', 'write'] as const;

type AccessMode = (typeof accessModes)[number];

/** All permissions in display order. */
export const allPermissions: readonly Permission[] = permissionAreas.flatMap((area) =>
  accessModes.map((way): Permission => `${area}:${way}`),
);

/** Returns the maximum permissions of a key, by the role of its user. */
export function maxPermissions(role: Role): readonly Permission[] {
  if (role !== 'member') return allPermissions;
  return allPermissions.filter((permission) => permission !== 'users:write' && permission !== 'company:write');
}

/** Display name and description of each area. */
const areaNames: Readonly<Record<PermissionArea, { readonly name: string; readonly description: string }>> = {
  events: { name: 'Events', description: 'the calendar' },
  clients: { name: 'Clients', description: 'whom projects are for, and their contacts' },
  projects: { name: 'Projects', description: 'and what is said in them' },
  tasks: { name: 'Tasks', description: 'their subtasks, and the time on them' },
  hooks: { name: 'Hooks', description: 'and the feed, and deliveries' },
  keys: { name: 'Keys', description: 'never wider than this one' },
  users: { name: 'People', description: 'and teams; changed by admins alone' },
  company: { name: 'Account', description: 'its name and address' },
};

/** Summarizes permissions as text: `Reads everything`, `Changes events, tasks`. */
export function summarizePermissions(permissions: readonly Permission[]): readonly string[] {
  if (permissions.length === 0) return ['May only ask who it is'];
  if (permissions.length === allPermissions.length) return ['Everything'];
  const areasOf = (way: AccessMode) => permissionAreas.filter((area) => permissions.includes(`${area}:${way}`));
  const summary = (verb: string, areas: readonly PermissionArea[]) => {
    if (areas.length === 0) return [];
    const missing = permissionAreas.filter((area) => !areas.includes(area));
    const namesOf = (some: readonly PermissionArea[]) =>
      some.map((area) => areaNames[area].name.toLowerCase()).join(', ');
    if (missing.length === 0) return [`${verb} everything`];
    return [missing.length < 3 ? `${verb} all but ${namesOf(missing)}` : `${verb} ${namesOf(areas)}`];
  };
  return [...summary('Reads', areasOf('read')), ...summary('Changes', areasOf('write'))];
}

type NarrowKeyProps = { readonly narrowed: ApiKey; readonly onDone: () => void; readonly onClose: () => void };

/** Dialog that renames a key or removes permissions from it. */
export function NarrowKey({ narrowed, onDone, onClose }: NarrowKeyProps) {
  const [label, setLabel] = useState(narrowed.label);
  const [permissions, setPermissions] = useState(narrowed.permissions);
  const removedCount = narrowed.permissions.length - permissions.length;
  const { submit, isBusy, faults, fault } = useSubmission(async () => {
    await client.keys.update(narrowed.id, { label, ...(removedCount > 0 && { permissions }) });
    showToast(removedCount > 0 ? 'Narrowed. It is in force already.' : 'Saved.');
    onClose();
    onDone();
  });
  return (
    <Dialog title="Change a key" isWide onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        {fault !== undefined && <Note tone="bad">{fault}</Note>}
        <TextField
          label="What it is for"
          value={label}
          onInput={setLabel}
          autoComplete="off"
          maxLength={255}
          fault={faults.label}
        />
        <PermissionGrid chosen={permissions} among={narrowed.permissions} onChange={setPermissions} />
        <Note tone={removedCount > 0 ? 'warn' : 'info'}>
          A key only ever becomes narrower: what is taken from it cannot be given back. For more, issue another one.
        </Note>
        <div class="ends">
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" disabled={isBusy}>
            {removedCount > 0
              ? `Take ${removedCount} ${removedCount === 1 ? 'permission' : 'permissions'} away`
              : 'Save'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
