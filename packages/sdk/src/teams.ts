// Written by test/docs.ts from the route rows. Change that, then: npm run docs

import type { Assigned, AssignedInput, Optional, Window } from './api-types.ts';
import { type Creates, creates, type Editable, editable } from './resource.ts';
import type { Send } from './transport.ts';

/** A team, as it is read. C37. */
export type Team = {
  /** Identifier of the team. */
  readonly team_id: string;
  /** Name of the team. */
  readonly team_name: string;
  /** Colour. */
  readonly color: string;
  /** The members. */
  readonly users: readonly Assigned[];
};

/** What a team is created from. C37. */
export type TeamInput = {
  /** Name of the team. */
  readonly team_name: string;
} & Optional<{
  /** Colour. */
  readonly color: string;
  /** The members. */
  readonly users: readonly AssignedInput[];
}>;

/** What can be changed of a team. C37. */
export type TeamChanges = Optional<TeamInput>;

/** What a list of teams is narrowed by; all of it must hold. C37. */
export type TeamFilters = Window;

/** Teams. C37. */
export type Teams = Editable<Team, TeamChanges, TeamFilters> & Creates<Team, TeamInput>;

/** Teams at `/teams`. */
export function teams(send: Send): Teams {
  return {
    ...editable<Team, TeamChanges, TeamFilters>(send, 'teams', 'team_id'),
    ...creates<Team, TeamInput>(send, 'teams'),
  };
}
