/**
 * Sends the same right and wrong requests to this server and to oidc-provider, and prints where the classes of their
 * answers differ. Exits with 1 for a difference that is not accepted, or an accepted one that is gone.
 */
import { ACCEPTED } from './accepted-differences.ts'
import { AUTHORIZE_PROBES } from './authorize-probes.ts'
import { CLIENT_PROBES } from './client-probes.ts'
import { startOurs } from './our-target.ts'
import { startReference } from './reference-target.ts'
import { type Class, classOf, type Probe, type Target } from './target.ts'
import { TOKEN_PROBES } from './token-probes.ts'

const probes = [...AUTHORIZE_PROBES, ...TOKEN_PROBES, ...CLIENT_PROBES].sort((one, other) => one.point - other.point)

const classAt = async (target: Target, probe: Probe): Promise<Class> => {
  try {
    return classOf(await probe.run(target))
  } catch (error) {
    return { kind: 'not probed', detail: error instanceof Error ? error.message.slice(0, 200) : String(error) }
  }
}
const shown = ({ kind, detail }: Class): string => (detail === '' ? kind : `${kind} (${detail})`)

const ours = await startOurs()
const reference = await startReference()
const left = new Set(Object.keys(ACCEPTED))
let same = 0
let spelled = 0
let accepted = 0
let wrong = 0
for (const probe of probes) {
  const name = `${probe.point}: ${probe.about}`
  const [own, other] = [await classAt(ours, probe), await classAt(reference, probe)]
  const isEqual = own.kind === other.kind && own.kind !== 'not probed'
  if (isEqual) {
    if (own.detail === other.detail) same += 1
    else {
      spelled += 1
      console.log(`code  ${name}: ${shown(own)}, reference ${shown(other)}`)
    }
    continue
  }
  const reason = ACCEPTED[name]
  if (reason === undefined) wrong += 1
  else accepted += 1
  left.delete(name)
  console.log(
    `${reason === undefined ? 'DIFF' : 'known'} ${name}: ${shown(own)}, reference ${shown(other)}${reason === undefined ? '' : ` – ${reason}`}`,
  )
}
for (const name of left) console.log(`GONE ${name}: does not differ any more`)
const points = new Set(probes.map(({ point }) => point)).size
console.log(
  `${probes.length} probes of ${points} points: ${same} the same, ${spelled} with another code, ${accepted} accepted differences, ${wrong} others`,
)
await ours.stop()
await reference.stop()
process.exitCode = wrong > 0 || left.size > 0 ? 1 : 0
