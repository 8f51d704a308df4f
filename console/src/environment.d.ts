/// <reference types="vite/client" />

declare module '@event-calendar/build';
