import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Button } from './button.tsx';

type DialogProps = {
  readonly title: string;
  readonly onClose: () => void;
  readonly isWide?: boolean;
  /** Neither Escape nor a click beside it closes it: what it shows is not to be had again. */
  readonly isFirm?: boolean;
  readonly children: ComponentChildren;
};

/** A window above the page. Escape and a click beside it close it; what had the focus has it again. */
export function Dialog({ title, onClose, isWide = false, isFirm = false, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={`dialog ${isWide ? 'wide' : ''}`}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        if (!isFirm) onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === element.current && !isFirm) onClose();
      }}
    >
      <div class="inside">
        <div class="row spread">
          <h2 id={titleId}>{title}</h2>
          <Button look="quiet" icon="cross" label="Close" onClick={onClose} />
        </div>
        {children}
      </div>
    </dialog>
  );
}

type AskProps = {
  readonly title: string;
  /** What follows from a yes. */
  readonly children: ComponentChildren;
  readonly yes: string;
  readonly onYes: () => void;
  readonly onClose: () => void;
};

/** Asks before something is done that cannot be taken back. */
export function Ask({ title, children, yes, onYes, onClose }: AskProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div>{children}</div>
      <div class="ends">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          look="danger"
          onClick={() => {
            onClose();
            onYes();
          }}
        >
          {yes}
        </Button>
      </div>
    </Dialog>
  );
}
