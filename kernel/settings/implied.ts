/**
 * Settings that imply another one: `postgres_url` implies `database.kind = "postgres"` where no kind is set. An
 * explicit value wins, and a value that would silently lose to one of a source with lower precedence is refused.
 */
import type { Setting } from './annotation.ts'
import { named } from './check.ts'
import { describeOrigin } from './describe-origin.ts'
import { type Layered, type Origin, put, valueAt } from './layer.ts'
import { show } from './show.ts'

/** Later sources override earlier ones. */
const PRECEDENCE: readonly Origin['source'][] = ['default', 'host', 'file', 'environment', 'flag']
const rank = ({ source }: Origin): number => PRECEDENCE.indexOf(source)

interface Choice {
  readonly setting: Setting
  readonly value: unknown
  readonly origin: Origin
}

export interface Implied {
  readonly layered: Layered
  /** `complaint[0]` is the path the complaint is about. */
  readonly complaints: readonly (readonly [path: string, about: string])[]
}

/** Path of each implied setting → the settings that imply it, the source with the highest precedence first. */
const choicesIn = (settings: readonly Setting[], layered: Layered): ReadonlyMap<string, Choice[]> => {
  const choices = settings
    .filter(({ path }) => valueAt(layered.values, path) !== undefined)
    .flatMap((setting) =>
      Object.entries(setting.schema.implies ?? {}).map(([target, value]) => ({
        target,
        choice: { setting, value, origin: layered.origin(setting.path) },
      })),
    )
    .toSorted((one, other) => rank(other.choice.origin) - rank(one.choice.origin))
  const byTarget = Map.groupBy(choices, ({ target }) => target)
  return new Map([...byTarget].map(([target, all]) => [target, all.map(({ choice }) => choice)]))
}

export const withImplied = (settings: readonly Setting[], layered: Layered): Implied => {
  let { values } = layered
  const origins = new Map<string, Origin>()
  const complaints: [string, string][] = []
  for (const [target, choices] of choicesIn(settings, layered)) {
    const setting = settings.find(({ path }) => path === target)
    const [first] = choices
    if (setting === undefined || first === undefined) continue
    const explicit = valueAt(layered.values, target)
    if (explicit !== undefined) {
      const origin = layered.origin(target)
      if (first.value === explicit || rank(first.origin) <= rank(origin)) continue
      complaints.push([
        first.setting.path,
        `it stands for ${named(setting)} = ${show(first.value)}, and ${describeOrigin(origin)} sets it to ${show(explicit)}; remove one of the two`,
      ])
      continue
    }
    const rival = choices.find((one) => one.value !== first.value && rank(one.origin) === rank(first.origin))
    if (rival !== undefined)
      complaints.push([
        first.setting.path,
        `${named(first.setting)} and ${named(rival.setting)} are both set; say with ${named(setting)} which one counts`,
      ])
    values = put(values, target.split('.'), first.value)
    origins.set(target, first.origin)
  }
  return { layered: { ...layered, values, origin: (path) => origins.get(path) ?? layered.origin(path) }, complaints }
}
