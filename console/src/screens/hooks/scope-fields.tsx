import type { Hook, HookScope } from '../../../../packages/sdk/src/hooks.ts';
import { isAdmin, requireSession } from '../../app/session.ts';
import { RadioGroup, Select } from '../../components/field.tsx';
import { scopeTexts } from '../../delivery/delivery-text.ts';
import { useProjects } from '../../records/records.ts';
import type { Errors, FormValues } from './hook-values.ts';

type ScopeFieldsProps = {
  readonly hook: Hook | undefined;
  readonly values: FormValues;
  readonly errors: Errors;
  readonly onChange: (changes: Partial<FormValues>) => void;
};

const scopeHints: Readonly<Record<HookScope, string>> = {
  own: 'Only events that the owner of the webhook causes.',
  project: 'Events of a project and the records in it, whoever causes them.',
  account: 'All events of the account, whoever causes them.',
};

/** Controls for the scope, and for the project if the scope is one project. */
export function ScopeFields({ hook, values, errors, onChange }: ScopeFieldsProps) {
  const { scope, projectId } = values;
  const isOwn = hook === undefined || hook.user_id === requireSession().user.user_id;
  const scopes: readonly HookScope[] = isAdmin() ? ['own', 'project', 'account'] : ['own', 'project'];
  return (
    <>
      <div class="field">
        <span class="label" aria-hidden="true">
          Scope
        </span>
        <RadioGroup
          label="Scope"
          value={scope}
          options={scopes.map((value) => ({
            value,
            text: value === 'own' && isOwn ? 'What I do' : scopeTexts[value],
          }))}
          onChange={(newScope) => onChange({ scope: newScope })}
        />
        {errors.scope === undefined ? (
          <span class="hint">{scopeHints[scope]}</span>
        ) : (
          <span class="fault" role="alert">
            {errors.scope}
          </span>
        )}
      </div>
      {scope === 'project' && (
        <ProjectSelect
          projectId={projectId}
          errorText={errors.project_id}
          onChange={(newId) => onChange({ projectId: newId })}
        />
      )}
    </>
  );
}

type ProjectSelectProps = {
  readonly projectId: string;
  readonly errorText: string | undefined;
  readonly onChange: (projectId: string) => void;
};

function ProjectSelect({ projectId, errorText, onChange }: ProjectSelectProps) {
  const { data: projects = [] } = useProjects();
  const isUnlisted = projectId !== '' && !projects.some(({ project_id }) => project_id === projectId);
  return (
    <Select
      label="Project"
      value={projectId}
      errorText={errorText}
      options={[
        { value: '', text: 'Choose a project' },
        ...(isUnlisted ? [{ value: projectId, text: `Project ${projectId}` }] : []),
        ...projects.map(({ project_id, project_name }) => ({ value: project_id, text: project_name })),
      ]}
      onChange={onChange}
    />
  );
}
