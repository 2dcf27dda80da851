/**
 * $validate: reports all issues of a resource and, by mode, whether a create, update or delete would be refused.
 * https://hl7.org/fhir/R4/resource-operation-validate.html
 */
import { errorsFirst, type Issue } from '../../../kernel/index.ts'
import type { Definitions } from '../../packages/service.ts'
import type { Validator } from '../../validation/service.ts'
import { TypeMismatch } from '../errors.ts'
import type { LargeBodies } from '../large/large-bodies.ts'
import type { BuiltInInvocation, BuiltInOperation } from './built-in.ts'
import type { DryRun } from './dry-run.ts'
import { OperationParameterMissing, ValidateMode, ValidateProfile } from './errors.ts'

type Json = Record<string, unknown>

const MODES = ['create', 'update', 'delete', 'profile'] as const
type Mode = (typeof MODES)[number]

const ALL_OK: Issue = { severity: 'information', code: 'informational', diagnostics: 'No issues were found.' }

const readMode = ({ inputs, interaction }: BuiltInInvocation): Mode | undefined => {
  const mode = inputs.get<Mode>('mode')
  if (mode === undefined) return undefined
  if (!MODES.includes(mode)) throw ValidateMode(String(mode).slice(0, 64), `none of ${MODES.join(', ')}`)
  if ((mode === 'update' || mode === 'delete') && interaction.id === undefined)
    throw ValidateMode(mode, 'for one resource, so it is asked for at the address of that')
  return mode
}

export interface ValidateParts {
  readonly validator: Validator
  readonly definitions: Pick<Definitions, 'find'>
  /** Parts that exist once the server has started. */
  readonly late: () => { readonly dryRun: DryRun; readonly large: Pick<LargeBodies, 'concerns' | 'check'> }
}

export const validateOperation = ({ validator, definitions, late }: ValidateParts): BuiltInOperation => {
  const profilesOf = async ({ inputs }: BuiltInInvocation): Promise<readonly string[]> => {
    const profiles = inputs.all<string>('profile')
    for (const profile of profiles) {
      const [url = '', version] = profile.split('|')
      // R4: a profile that is not available is an error of the request, and not an issue in the result.
      if ((await definitions.find('StructureDefinition', url, version)) === undefined)
        throw ValidateProfile(profile.slice(0, 200))
    }
    return profiles
  }

  /** The resource to validate: the one that was sent, or the one stored at the address. */
  const subjectOf = async (
    { inputs, interaction, data }: BuiltInInvocation,
    mode: Mode | undefined,
  ): Promise<{ readonly resource: Json; readonly json: string }> => {
    const { type = '', id } = interaction
    const resource = inputs.get<Json>('resource')
    if (resource !== undefined) {
      if (resource.resourceType !== type) throw TypeMismatch(String(resource.resourceType).slice(0, 64), type)
      return { resource, json: inputs.json('resource') as string }
    }
    if (id === undefined || mode === 'create' || mode === 'update')
      throw OperationParameterMissing('validate', 'resource')
    const held = await data.read(type, id)
    return { resource: held.parse(), json: held.json }
  }

  /** A thread validates a large resource. Checks that other plugins have added run on the main thread. */
  const check = async (
    { request }: BuiltInInvocation,
    resource: Json,
    text: string,
    profiles: readonly string[],
  ): Promise<readonly Issue[]> => {
    const { large } = late()
    const isApart = validator.remote !== undefined && large.concerns({ text })
    const found = isApart ? await large.check(request, text, profiles) : undefined
    return validator.check(resource, { text, profiles, request, ...(found === undefined ? {} : { found }) })
  }

  return {
    code: 'validate',
    definition: 'http://hl7.org/fhir/OperationDefinition/Resource-validate',
    documentation:
      'Everything there is to say about a resource, and whether a create, update or delete would be taken.',
    levels: ['type', 'instance'],
    isWriters: true,
    parameters: [
      { name: 'resource', type: 'Resource', documentation: 'What to validate; the stored one when left out.' },
      { name: 'mode', type: 'code', documentation: 'create, update, delete or profile.' },
      { name: 'profile', type: 'canonical', documentation: 'A profile to validate against.' },
    ],
    async answer(invocation) {
      const mode = readMode(invocation)
      const { dryRun } = late()
      const profiles = await profilesOf(invocation)
      const issues: Issue[] = []
      const { id } = invocation.interaction
      if (mode === 'delete') issues.push(...(await dryRun(invocation, { kind: 'delete', id: id as string })))
      else {
        const { resource, json } = await subjectOf(invocation, mode)
        issues.push(...(await check(invocation, resource, json, profiles)))
        const isSound = !issues.some(({ severity }) => severity === 'error' || severity === 'fatal')
        // A resource with errors would be refused anyway, so the dry run is skipped.
        if (isSound && mode === 'create') issues.push(...(await dryRun(invocation, { kind: 'create', json })))
        if (isSound && mode === 'update')
          issues.push(...(await dryRun(invocation, { kind: 'update', id: id as string, json })))
      }
      return {
        resource: { resourceType: 'OperationOutcome', issue: issues.length === 0 ? [ALL_OK] : errorsFirst(issues) },
      }
    },
  }
}
