import type { ComponentChildren, TargetedMouseEvent } from 'preact';
import { Icon, type IconName } from './icon.tsx';

type ButtonVariant = 'plain' | 'primary' | 'quiet' | 'danger';

type ButtonProps = {
  readonly variant?: ButtonVariant;
  readonly icon?: IconName;
  /** Accessible name for screen readers; required for a button that has only an icon. */
  readonly label?: string;
  readonly type?: 'button' | 'submit';
  readonly disabled?: boolean;
  /** State of a toggle button; omitted for any other button. */
  readonly pressed?: boolean;
  readonly onClick?: (event: TargetedMouseEvent<HTMLButtonElement>) => void;
  readonly children?: ComponentChildren;
};

export function Button({ variant = 'plain', icon, label, type = 'button', pressed, children, ...rest }: ButtonProps) {
  const isIconOnly = children === undefined;
  return (
    <button
      type={type}
      class={`button ${variant} ${isIconOnly ? 'icon-only' : ''}`}
      aria-label={label}
      title={isIconOnly ? label : undefined}
      aria-pressed={pressed}
      {...rest}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A link that looks like a button. */
export function ButtonLink({ href, variant = 'plain', icon, children }: ButtonProps & { readonly href: string }) {
  return (
    <a class={`button ${variant}`} href={href}>
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </a>
  );
}
