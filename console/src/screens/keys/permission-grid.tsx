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
  readonly selectedPermissions: readonly Permission[];
  /** Permissions that the user can select; the checkboxes of all other permissions are disabled. */
  readonly allowedPermissions: readonly Permission[];
  readonly onChange: (selectedPermissions: readonly Permission[]) => void;
};

const accessModeNames: Readonly<Record<AccessMode, string>> = { read: 'Read', write: 'Change' };

/** Editor for the permissions of a key: one row per area, with one checkbox for read and one for write. */
export function PermissionGrid({ selectedPermissions, allowedPermissions, onChange }: PermissionGridProps) {
  const togglePermission = (permission: Permission, isOn: boolean) =>
    onChange(
      allowedPermissions.filter((candidate) =>
        candidate === permission ? isOn : selectedPermissions.includes(candidate),
      ),
    );
  const presets = [
    { text: 'All', permissions: allowedPermissions },
    { text: 'Read only', permissions: allowedPermissions.filter((candidate) => candidate.endsWith(':read')) },
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
            {accessModes.map((accessMode) => (
              <th key={accessMode} scope="col">
                {accessModeNames[accessMode]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {permissionAreas.map((area) => (
            <tr key={area}>
              <th scope="row">
                {areaTexts[area].name} <span class="small soft">{areaTexts[area].description}</span>
              </th>
              {accessModes.map((accessMode) => {
                const permission: Permission = `${area}:${accessMode}`;
                return (
                  <td key={accessMode}>
                    <input
                      type="checkbox"
                      aria-label={`${accessModeNames[accessMode]} ${areaTexts[area].name}`}
                      checked={selectedPermissions.includes(permission)}
                      disabled={!allowedPermissions.includes(permission)}
                      onChange={(event) => togglePermission(permission, event.currentTarget.checked)}
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
const allPermissions: readonly Permission[] = permissionAreas.flatMap((area) =>
  accessModes.map((accessMode): Permission => `${area}:${accessMode}`),
);

/** Returns the maximum permissions of a key, by the role of its user. */
export function maxPermissionsOf(role: Role): readonly Permission[] {
  if (role !== 'member') return allPermissions;
  return allPermissions.filter((permission) => permission !== 'users:write' && permission !== 'company:write');
}

/** Display name and description of each area. */
const areaTexts: Readonly<Record<PermissionArea, { readonly name: string; readonly description: string }>> = {
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
  const areasOf = (accessMode: AccessMode) =>
    permissionAreas.filter((area) => permissions.includes(`${area}:${accessMode}`));
  const summarizeAreas = (verb: string, areas: readonly PermissionArea[]) => {
    if (areas.length === 0) return [];
    const missingAreas = permissionAreas.filter((area) => !areas.includes(area));
    const namesOf = (listedAreas: readonly PermissionArea[]) =>
      listedAreas.map((area) => areaTexts[area].name.toLowerCase()).join(', ');
    if (missingAreas.length === 0) return [`${verb} everything`];
    return [missingAreas.length < 3 ? `${verb} all but ${namesOf(missingAreas)}` : `${verb} ${namesOf(areas)}`];
  };
  return [...summarizeAreas('Reads', areasOf('read')), ...summarizeAreas('Changes', areasOf('write'))];
}

type EditKeyDialogProps = { readonly apiKey: ApiKey; readonly onChanged: () => void; readonly onClose: () => void };

/** Dialog that renames a key or removes permissions from it. */
export function EditKeyDialog({ apiKey, onChanged, onClose }: EditKeyDialogProps) {
  const [label, setLabel] = useState(apiKey.label);
  const [permissions, setPermissions] = useState(apiKey.permissions);
  const removedCount = apiKey.permissions.length - permissions.length;
  const { submit, isBusy, errorsByField, errorText } = useSubmission(async () => {
    await client.keys.update(apiKey.id, { label, ...(removedCount > 0 && { permissions }) });
    showToast(removedCount > 0 ? 'Narrowed. It is in force already.' : 'Saved.');
    onClose();
    onChanged();
  });
  return (
    <Dialog title="Change a key" isWide onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        {errorText !== undefined && <Note tone="bad">{errorText}</Note>}
        <TextField
          label="What it is for"
          value={label}
          onInput={setLabel}
          autoComplete="off"
          maxLength={255}
          errorText={errorsByField.label}
        />
        <PermissionGrid
          selectedPermissions={permissions}
          allowedPermissions={apiKey.permissions}
          onChange={setPermissions}
        />
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
