/** Questions of everyday care as searches, each with its answer worked out from the records themselves. */
import { covered, hasCode, isBefore, isFrom, keyOf, type Resource } from './record.ts'

export interface Question {
  /** What is asked, for the report: many searches may ask the same. */
  readonly kind: string
  readonly url: string
  readonly matches: readonly Resource[]
  /** What is included beside the matches. */
  readonly included?: readonly Resource[]
  /** Values of the matches in the order they have to come in; equal ones in any order. */
  readonly order?: (one: Resource) => number
}

const LOINC = 'http://loinc.org'
const UCUM = 'http://unitsofmeasure.org'
const MAX_INCLUDED = 1_000

/** Values that occur, the most frequent first. */
const common = (values: readonly (string | undefined)[]): readonly string[] => {
  const counts = new Map<string, number>()
  for (const value of values) if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].sort((one, other) => other[1] - one[1]).map(([value]) => value)
}
const codeOf = ({ code }: Resource): string | undefined =>
  code?.coding?.find((one: Resource) => one.system === LOINC)?.code
const middle = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] as number

export const createQuestions = (records: readonly Resource[]): readonly Question[] => {
  const byKey = new Map(records.map((one) => [keyOf(one), one]))
  const of = (type: string): readonly Resource[] => records.filter(({ resourceType }) => resourceType === type)
  const resolve = (references: readonly (Resource | undefined)[]): readonly Resource[] => [
    ...new Set(references.flatMap((one) => byKey.get(one?.reference ?? '') ?? [])),
  ]
  const [patients, observations, conditions, encounters] = ['Patient', 'Observation', 'Condition', 'Encounter'].map(
    of,
  ) as [readonly Resource[], readonly Resource[], readonly Resource[], readonly Resource[]]
  const [requests, reports] = [of('MedicationRequest'), of('DiagnosticReport')]
  const bySubject = (list: readonly Resource[]) => Map.groupBy(list, ({ subject }) => subject?.reference as string)
  const groups = [observations, conditions, encounters, requests, reports].map(bySubject)
  const questions: Question[] = []

  for (const patient of patients) {
    const key = keyOf(patient)
    const [own, ills, visits, drugs, panels] = groups.map((group) => group.get(key) ?? []) as Resource[][] as [
      Resource[],
      Resource[],
      Resource[],
      Resource[],
      Resource[],
    ]
    for (const code of common(own.map(codeOf)).slice(0, 3)) {
      const all = own.filter((one) => hasCode(one.code, LOINC, code))
      const year = new Date(middle(all.map((one) => covered(one.effectiveDateTime)[0]))).getUTCFullYear()
      const time = (one: Resource): number => covered(one.effectiveDateTime)[0]
      questions.push(
        {
          kind: 'labs of a patient by code, in order of date',
          url: `/Observation?patient=${key}&code=${LOINC}|${code}&_sort=date`,
          matches: all,
          order: time,
        },
        {
          kind: 'labs of a patient by code and span of time, newest first',
          url: `/Observation?patient=${key}&code=${LOINC}|${code}&date=ge${year - 1}-01-01&date=lt${year + 1}-01-01&_sort=-date`,
          matches: all.filter(({ effectiveDateTime }) => {
            const span = covered(effectiveDateTime)
            return isFrom(span, `${year - 1}-01-01`) && isBefore(span, `${year + 1}-01-01`)
          }),
          order: (one) => -time(one),
        },
      )
    }
    questions.push({
      kind: 'active conditions of a patient',
      url: `/Condition?patient=${key}&clinical-status=active`,
      matches: ills.filter(({ clinicalStatus }) =>
        hasCode(clinicalStatus, 'http://terminology.hl7.org/CodeSystem/condition-clinical', 'active'),
      ),
    })
    if (visits.length > 0) {
      const year = new Date(middle(visits.map(({ period }) => covered(period)[0]))).getUTCFullYear()
      const span = ({ period }: Resource): boolean =>
        isFrom(covered(period), `${year - 2}-07-01`) && isBefore(covered(period), `${year + 2}`)
      const matches = visits.filter(span)
      questions.push({
        kind: 'encounters of a patient in a span of time, with who saw them',
        url: `/Encounter?patient=${key}&date=ge${year - 2}-07-01&date=lt${year + 2}&_include=Encounter:participant`,
        matches,
        included: resolve(
          matches.flatMap(({ participant = [] }) => participant.map((one: Resource) => one.individual)),
        ),
      })
    }
    questions.push({
      kind: 'medications of a patient with their prescriber and visit',
      url: `/MedicationRequest?patient=${key}&_include=MedicationRequest:requester&_include=MedicationRequest:medication&_include=MedicationRequest:encounter`,
      matches: drugs,
      included: resolve(drugs.flatMap((one) => [one.requester, one.medicationReference, one.encounter])),
    })
    const results = resolve(panels.flatMap(({ result = [] }) => result))
    if (results.length < MAX_INCLUDED)
      questions.push({
        kind: 'reports of a patient with their results',
        url: `/DiagnosticReport?patient=${key}&_include=DiagnosticReport:result`,
        matches: panels,
        included: results,
      })
    if (ills.length + visits.length < MAX_INCLUDED)
      questions.push({
        kind: 'a patient with the conditions and encounters that refer to them',
        url: `/Patient?_id=${patient.id}&_revinclude=Condition:subject&_revinclude=Encounter:subject`,
        matches: [patient],
        included: [...ills, ...visits],
      })
    questions.push({
      kind: 'a compartment: the conditions of a patient',
      url: `/${key}/Condition`,
      matches: ills,
    })
  }

  // Of the whole population.
  const subjectsOf = (list: readonly Resource[]): readonly Resource[] => resolve(list.map(({ subject }) => subject))
  const measured = observations.filter(({ valueQuantity }) => typeof valueQuantity?.value === 'number')
  for (const code of common(measured.map(codeOf)).slice(0, 8)) {
    const all = measured.filter((one) => hasCode(one.code, LOINC, code))
    const unit = all[0]?.valueQuantity.code as string
    const limit = Number(middle(all.map(({ valueQuantity }) => valueQuantity.value)).toFixed(2))
    const high = all.filter(({ valueQuantity }) => valueQuantity.value > limit && valueQuantity.code === unit)
    const value = `gt${limit}|${UCUM}|${unit}`
    questions.push(
      {
        kind: 'patients with an abnormal value (_has with a composite)',
        url: `/Patient?_has:Observation:patient:code-value-quantity=${LOINC}|${code}$${value}`,
        matches: subjectsOf(high),
      },
      {
        kind: 'women with an abnormal value (_has and a parameter)',
        url: `/Patient?gender=female&_has:Observation:patient:code-value-quantity=${LOINC}|${code}$${value}`,
        matches: subjectsOf(high).filter(({ gender }) => gender === 'female'),
      },
      {
        kind: 'abnormal values of women (chain)',
        url: `/Observation?patient.gender=female&code=${LOINC}|${code}&value-quantity=${value}`,
        matches: high.filter(({ subject }) => byKey.get(subject.reference)?.gender === 'female'),
      },
      {
        kind: 'values by a filter with a chain in it',
        url: `/Observation?_filter=code eq ${LOINC}|${code} and value-quantity gt ${limit} and subject.gender eq male`,
        matches: all.filter(
          ({ valueQuantity, subject }) =>
            valueQuantity.value > limit && byKey.get(subject.reference)?.gender === 'male',
        ),
      },
    )
  }
  const parted = observations.flatMap(({ component = [] }) => component as Resource[])
  for (const code of common(parted.map(codeOf)).slice(0, 2)) {
    const values = parted.filter((one) => hasCode(one.code, LOINC, code)).map((one) => one.valueQuantity?.value)
    const limit = Number(middle(values).toFixed(1))
    const high = observations.filter(({ component = [] }) =>
      component.some((one: Resource) => hasCode(one.code, LOINC, code) && one.valueQuantity?.value > limit),
    )
    questions.push(
      {
        kind: 'observations with a high component (composite)',
        url: `/Observation?component-code-value-quantity=${LOINC}|${code}$gt${limit}`,
        matches: high,
      },
      {
        kind: 'patients with a high component (_has with a composite)',
        url: `/Patient?_has:Observation:subject:component-code-value-quantity=${LOINC}|${code}$gt${limit}`,
        matches: subjectsOf(high),
      },
    )
  }
  for (const [system, code] of common(
    conditions.map(({ code }) => code?.coding?.[0] && `${code.coding[0].system}|${code.coding[0].code}`),
  )
    .slice(0, 5)
    .map((token) => token.split('|') as [string, string])) {
    const ill = conditions.filter((one) => hasCode(one.code, system, code))
    questions.push(
      {
        kind: 'patients with a condition (_has), sorted by birth date',
        url: `/Patient?_has:Condition:patient:code=${system}|${code}&_sort=birthdate`,
        matches: subjectsOf(ill),
        order: ({ birthDate }) => covered(birthDate)[0],
      },
      {
        kind: 'encounters at which a condition was found (_has)',
        url: `/Encounter?_has:Condition:encounter:code=${system}|${code}`,
        matches: resolve(ill.map(({ encounter }) => encounter)),
      },
      {
        kind: 'a condition in patients of some age (chain)',
        url: `/Condition?code=${system}|${code}&patient.birthdate=ge1970-01-01`,
        matches: ill.filter(({ subject }) => isFrom(covered(byKey.get(subject.reference)?.birthDate), '1970-01-01')),
      },
    )
  }
  return questions
}
