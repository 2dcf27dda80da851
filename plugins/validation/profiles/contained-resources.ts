/** Finds the resources inside a resource: contained resources, entries of a Bundle, and parameters. */
import type { LocationPath } from './element-location.ts'

/** Quick test for whether there may be any, since most resources have none. */
export const mayHoldResources = ({ contained, resourceType }: Readonly<Record<string, unknown>>): boolean =>
  contained !== undefined || resourceType === 'Bundle' || resourceType === 'Parameters'

/** Yields each resource directly inside a resource, with its path and whether it is a contained resource. */
export const containedResources = function* (
  resource: Readonly<Record<string, unknown>>,
  up: LocationPath,
): Generator<[unknown, LocationPath, boolean]> {
  const list = (value: unknown): any[] => (Array.isArray(value) ? value : [])
  for (const [index, one] of list(resource.contained).entries()) yield [one, { up, name: 'contained', index }, true]
  if (resource.resourceType === 'Bundle') {
    for (const [index, entry] of list(resource.entry).entries()) {
      const at: LocationPath = { up, name: 'entry', index }
      yield [entry?.resource, { up: at, name: 'resource', index: -1 }, false]
      yield [
        entry?.response?.outcome,
        { up: { up: at, name: 'response', index: -1 }, name: 'outcome', index: -1 },
        false,
      ]
    }
  }
  const parameters = function* (
    name: string,
    all: unknown,
    above: LocationPath,
  ): Generator<[unknown, LocationPath, boolean]> {
    for (const [index, one] of list(all).entries()) {
      const at: LocationPath = { up: above, name, index }
      yield [one?.resource, { up: at, name: 'resource', index: -1 }, false]
      yield* parameters('part', one?.part, at)
    }
  }
  if (resource.resourceType === 'Parameters') yield* parameters('parameter', resource.parameter, up)
}
