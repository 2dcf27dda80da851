/**
 * Consent: hides from an actor what a patient denies them. An active Consent whose provision denies an actor some codes
 * hides the patient's observations of these categories from that actor. The plugin reads Consents as the server itself,
 * and `authorize` is not called for these reads. In a package of its own this plugin imports from 'refhir'.
 */
import { ALL, definePlugin, type Restriction } from '../kernel/index.ts'
import { type CurrentResource, Resources } from '../plugins/fhir/service.ts'

interface Consent {
  readonly patient?: { readonly reference?: string }
  readonly provision?: {
    readonly type?: string
    readonly code?: readonly { readonly coding?: readonly { readonly system?: string; readonly code?: string }[] }[]
  }
}

const MAX_KEPT = 10_000 // users whose consents are cached
const REFERENCE = /^[A-Z][A-Za-z]+\/[A-Za-z0-9\-.]{1,64}$/

/** https://hl7.org/fhir/R4/search.html#escaping */
const escaped = (value: string): string => value.replace(/[\\,$|]/g, '\\$&')

/**
 * Allows everything but one patient's observations of the denied categories; undefined for a Consent that denies none.
 */
const restrictionOf = (held: CurrentResource): Restriction | undefined => {
  const { patient, provision } = held.parse() as Consent
  const codings = (provision?.code ?? []).flatMap(({ coding = [] }) => coding)
  const categories = codings.flatMap(({ system = '', code }) =>
    code === undefined ? [] : [`${escaped(system)}|${escaped(code)}`],
  )
  const reference = patient?.reference ?? ''
  if (provision?.type !== 'deny' || categories.length === 0 || !REFERENCE.test(reference)) return undefined
  const others = new URLSearchParams({ 'category:not': categories.join(',') }).toString()
  const ofOthers = new URLSearchParams({ _filter: `not (subject eq ${reference})` }).toString()
  return {
    types: {
      Observation: [
        { rights: 'cruds', query: others },
        { rights: 'cruds', query: ofOthers },
      ],
    },
    others: [ALL],
  }
}

export default definePlugin({
  name: 'consent',
  description: 'Hides what patients deny to somebody',
  api: '^2.0.0',
  needs: { resources: Resources },
  setup({ hooks, needs: { resources } }) {
    const consents = resources.as({ kind: 'internal', purpose: 'consent' })
    // Cached until a Consent is written here. Where several servers share a database, also drop the cache every few
    // seconds.
    let kept = new Map<string, Promise<readonly Restriction[]>>()
    hooks.onCommit.tap('forget consents', ({ changes }) => {
      if (changes.some(({ next }) => next.type === 'Consent')) kept = new Map()
    })

    const read = async (user: string): Promise<readonly Restriction[]> => {
      const found: Restriction[] = []
      const query = new URLSearchParams({ status: 'active', actor: user })
      for await (const held of consents.stream('Consent', query.toString())) {
        const restriction = restrictionOf(held)
        if (restriction !== undefined) found.push(restriction)
      }
      return found
    }
    const restrictionsFor = (user: string): Promise<readonly Restriction[]> => {
      const known = kept.get(user)
      if (known !== undefined) return known
      if (kept.size >= MAX_KEPT) kept = new Map()
      const [own, reading] = [kept, read(user)]
      own.set(user, reading)
      // A failed read refuses this request, and is tried again for the next one.
      reading.catch(() => own.delete(user))
      return reading
    }
    hooks.authorize.tapPromise('what patients deny', async ({ caller: { user = '' } }, _interaction, ruling) => {
      if (!REFERENCE.test(user)) return
      for (const restriction of await restrictionsFor(user)) ruling.restrict(restriction)
    })
  },
})
