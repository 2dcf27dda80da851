/**
 * Consent: what a patient denies to somebody is hidden from them. An active Consent whose provision denies an actor some
 * codes hides the patient's observations of these categories from that actor. The Consents are read as the server itself,
 * for which `authorize` is not asked; in a package of its own this plugin imports from 'refhir'.
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

const MAX_KEPT = 10_000 // users whose consents are in memory
const REFERENCE = /^[A-Z][A-Za-z]+\/[A-Za-z0-9\-.]{1,64}$/

/** https://hl7.org/fhir/R4/search.html#escaping */
const escaped = (value: string): string => value.replace(/[\\,$|]/g, '\\$&')

/** Everything but the observations of one patient that are of these categories; undefined for a Consent that denies none. */
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
    // Kept until a Consent is written here. Where several servers share a database, ask anew after some seconds as well.
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
      // What could not be read refuses this request, and is asked again for the next.
      reading.catch(() => own.delete(user))
      return reading
    }
    hooks.authorize.tapPromise('what patients deny', async ({ caller: { user = '' } }, _interaction, ruling) => {
      if (!REFERENCE.test(user)) return
      for (const restriction of await restrictionsFor(user)) ruling.restrict(restriction)
    })
  },
})
