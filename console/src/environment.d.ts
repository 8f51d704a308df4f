/// <reference types="vite/client" />

/**
 * Types of the part of @event-calendar that the console uses. Dates are exchanged as strings, because the `Date`
 * objects that the library passes to callbacks may be shifted by the time zone.
 */
declare module '@event-calendar/build/dist/event-calendar.min.js' {
  export type EventContent = { readonly domNodes: readonly Node[] };

  export type GridEvent = {
    readonly id: string;
    readonly allDay: boolean;
    readonly start: string;
    readonly end: string;
    readonly title: string;
    readonly display?: 'auto' | 'background';
    readonly startEditable?: boolean;
    readonly durationEditable?: boolean;
    readonly classNames?: readonly string[];
    readonly styles?: readonly string[];
    readonly extendedProps?: Readonly<Record<string, unknown>>;
  };

  /** An event as the library passes it to callbacks. */
  export type RenderedEvent = Pick<GridEvent, 'id' | 'title'> & {
    readonly extendedProps: Readonly<Record<string, unknown>>;
  };

  /** Distance in time by which the user has dragged an event or one of its ends. */
  export type DragDelta = { readonly days: number; readonly seconds: number };

  export type GridOptions = {
    readonly eventClick: (info: { readonly event: RenderedEvent; readonly jsEvent: Event }) => void;
    readonly eventContent: (info: {
      readonly event: RenderedEvent;
      readonly timeText: string;
    }) => EventContent | undefined;
    readonly eventDidMount: (info: { readonly event: RenderedEvent; readonly el: HTMLElement }) => void;
    readonly eventDrop: (info: { readonly event: RenderedEvent; readonly delta: DragDelta }) => void;
    readonly eventResize: (info: {
      readonly event: RenderedEvent;
      readonly startDelta: DragDelta;
      readonly endDelta: DragDelta;
    }) => void;
    readonly dateClick: (info: { readonly dateStr: string; readonly allDay: boolean }) => void;
    readonly select: (info: { readonly startStr: string; readonly endStr: string; readonly allDay: boolean }) => void;
    readonly [name: string]: unknown;
  };

  export interface EventCalendar {
    setOption(name: string, value: unknown): EventCalendar;
    unselect(): EventCalendar;
  }

  export function create(target: HTMLElement, options: GridOptions): EventCalendar;
  export function destroy(grid: EventCalendar): Promise<void>;
}
