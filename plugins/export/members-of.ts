/** The patients in a Group: those of its members that are active. https://hl7.org/fhir/R4/group.html */
const PATIENT = /^Patient\/([A-Za-z0-9\-.]{1,64})(\/_history\/.*)?$/

interface Member {
  readonly entity?: { readonly reference?: unknown }
  readonly inactive?: unknown
}

/** Their ids. */
export const membersOf = ({ member }: Readonly<Record<string, unknown>>): ReadonlySet<string> =>
  new Set(
    (Array.isArray(member) ? (member as readonly Member[]) : []).flatMap(({ entity, inactive }) => {
      const id = inactive === true ? undefined : PATIENT.exec(String(entity?.reference))?.[1]
      return id === undefined ? [] : [id]
    }),
  )
