/** The input `date`: definitions as they were at a time. */
import type { Invocation, OperationParameter } from '../../fhir/service.ts'
import { readDateRange } from '../../model/service.ts'
import { whyNotAsOf } from '../definitions-as-of.ts'
import { ChangedSince } from '../errors.ts'

export const DATE: OperationParameter = {
  name: 'date',
  type: 'dateTime',
  documentation: 'Definitions as they were then; 400 where one of them has changed since.',
}
/** The time until which definitions may have changed, in microseconds; undefined where the present ones are meant. */
export const asOfIn = ({ inputs, request }: Invocation): number | undefined => {
  const range = readDateRange(inputs.get<string>('date') ?? '')
  return range === undefined || range.to > request.startedAt * 1000 ? undefined : range.to
}

/** Throws 400 where a definition has changed since the date that was asked for. */
export const checkAsOf = (
  invocation: Invocation,
  operation: string,
  name: string,
  changed: string | undefined,
): void => {
  const asOf = asOfIn(invocation)
  const why = asOf === undefined ? undefined : whyNotAsOf(name, changed, asOf)
  if (why !== undefined) throw ChangedSince(operation, invocation.inputs.get<string>('date') ?? '', why)
}
