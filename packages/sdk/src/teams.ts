// Written by test/docs.ts from the route rows. Change that, then: npm run docs

import type { Assigned, AssignedInput, Optional, Window } from './api-types.ts';
import { type Creates, creates, type Editable, editable } from './resource.ts';
import type { Send } from './transport.ts';

/** A team as returned by the API. C37. */
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

/** Input to create a team. C37. */
export type TeamInput = {
  /** Name of the team. */
  readonly team_name: string;
} & Optional<{
  /** Colour. */
  readonly color: string;
  /** The members. */
  readonly users: readonly AssignedInput[];
}>;

/** Fields of a team that can be changed. C37. */
export type TeamChanges = Optional<TeamInput>;

/** Filters of the list of teams, combined with AND. C37. */
export type TeamFilters = Window;

/** Methods for teams. C37. */
export type Teams = Editable<Team, TeamChanges, TeamFilters> & Creates<Team, TeamInput>;

/** Methods for teams at `/teams`. */
export function teams(send: Send): Teams {
  return {
    ...editable<Team, TeamChanges, TeamFilters>(send, 'teams', 'team_id'),
    ...creates<Team, TeamInput>(send, 'teams'),
  };
}
