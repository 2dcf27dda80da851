/** Answers that are dates and times are compared as instants, however they are written. */
// database: sqlite, because answers are compared in the process
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Json, type SdcServer, sdcServer } from '../../support/sdc-server.ts'

let it: SdcServer
test.before(async () => {
  it = await sdcServer()
})
test.after(() => it.server.stop())

const MAX = 'http://hl7.org/fhir/StructureDefinition/maxValue'
/** Whether a response with answers to `items` has errors. */
const isRefused = async (items: readonly Json[], answers: readonly Json[]): Promise<boolean> => {
  const questionnaire = { resourceType: 'Questionnaire', id: 'q', status: 'active', item: items }
  const { status, json, text } = await it.post('/QuestionnaireResponse/$validate', {
    ...{ resourceType: 'QuestionnaireResponse', status: 'completed', questionnaire: '#q' },
    ...{ contained: [questionnaire], item: answers },
  })
  assert.is(status, 200, text)
  return json.issue.some(({ severity }: Json) => severity === 'error')
}
const isEnabled = async (type: string, operator: string, answer: string, wanted: string): Promise<boolean> => {
  const name = `${type.charAt(0).toUpperCase()}${type.slice(1)}`
  const enableWhen = [{ question: 'a', operator, [`answer${name}`]: wanted }]
  return !(await isRefused(
    [
      { linkId: 'a', type },
      { linkId: 'b', type: 'string', enableWhen },
    ],
    [
      { linkId: 'a', answer: [{ [`value${name}`]: answer }] },
      { linkId: 'b', answer: [{ valueString: 'x' }] },
    ],
  ))
}

for (const [type, answer, wanted, met] of [
  ['dateTime', '2020-01-01T01:00:00+01:00', '2020-01-01T00:00:00Z', '= >= <='],
  ['dateTime', '2020-01-01T00:00:00.000Z', '2020-01-01T00:00:00Z', '= >= <='],
  ['dateTime', '2020-01-01T00:00:00.0002Z', '2020-01-01T00:00:00.0001Z', '!= > >='],
  ['dateTime', '2020-01-01T01:00:00Z', '2020-01-01T00:00:00Z', '!= > >='],
  ['time', '10:00:00.0', '10:00:00', '= >= <='],
  ['time', '10:00:01', '10:00:00', '!= > >='],
  ['date', '2020-01', '2020-01-15', '!= >= <='],
  ['date', '2020-02', '2020-02', '= >= <='],
  ['string', '10:00:00.0', '10:00:00', '!= > >='],
] as const)
  test(`${type} ${answer} is ${met} ${wanted}`, async () => {
    const found: string[] = []
    for (const operator of ['=', '!=', '>', '<', '>=', '<='])
      if (await isEnabled(type, operator, answer, wanted)) found.push(operator)
    assert.is(found.join(' '), met)
  })

test('a time is one of the options and within the limits, however it is written', async () => {
  const answers = [{ linkId: 'a', answer: [{ valueTime: '10:00:00.0' }] }]
  assert.not.ok(await isRefused([{ linkId: 'a', type: 'time', answerOption: [{ valueTime: '10:00:00' }] }], answers))
  const limited = (valueTime: string): Json => ({ linkId: 'a', type: 'time', extension: [{ url: MAX, valueTime }] })
  assert.not.ok(await isRefused([limited('10:00:00')], answers))
  assert.ok(await isRefused([limited('09:59:59')], answers))
})

test.run()
