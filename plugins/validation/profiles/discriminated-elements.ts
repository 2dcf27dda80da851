/** The elements that the path of a discriminator selects. */
import type { SlicingStep } from './discriminator-path.ts'
import { contentOf, type ElementLocation, type FieldsOf, fieldOf, locationsOf, typeNameOf } from './element-location.ts'

export interface DiscriminatedElements {
  /** The elements that a path selects from an element. */
  select(steps: readonly SlicingStep[], location: ElementLocation): readonly ElementLocation[]
  /** The contained resource that a Reference refers to; empty if it refers to none. */
  resolved(location: ElementLocation): readonly ElementLocation[]
}

/** `contained` returns the contained resource that a local reference such as `#a` names. */
export const createDiscriminatedElements = (
  shapeOf: FieldsOf,
  contained: (reference: string) => unknown,
): DiscriminatedElements => {
  const resolved = (location: ElementLocation): ElementLocation[] => {
    const reference = (location.value as { reference?: unknown } | undefined)?.reference
    const value = typeof reference === 'string' && reference.startsWith('#') ? contained(reference) : undefined
    return value === undefined ? [] : [{ ...location, value, type: { kind: 'resource', suffix: '' } }]
  }

  const found = (spots: readonly ElementLocation[], step: SlicingStep): ElementLocation[] =>
    spots.flatMap((location): ElementLocation[] => {
      switch (step.kind) {
        case 'type':
          return typeNameOf(location) === step.name ? [location] : []
        case 'resolve':
          return resolved(location)
        default: {
          const inside = contentOf(location, shapeOf)
          const name = step.kind === 'extension' ? 'extension' : step.name
          const of = inside === undefined ? undefined : fieldOf(inside, name)
          if (inside === undefined || of === undefined) return []
          const all = locationsOf(inside, of.field, location.path, of.only)
          return step.kind === 'child'
            ? all
            : all.filter(({ value }) => (value as { url?: unknown } | undefined)?.url === step.url)
        }
      }
    })

  return { resolved, select: (steps, location) => steps.reduce<ElementLocation[]>(found, [location]) }
}
