/** Validation and terminology with each call for a traced request as a step. */
import type { Terminology } from '../terminology/service.ts'
import type { Validator } from '../validation/service.ts'
import type { OpenTraces } from './open-traces.ts'
import type { Details } from './trace.ts'
import { withMethods } from './with-methods.ts'

/** The type, where it is a name: of a body that is not valid it may be any text. */
const typeOf = ({ resourceType }: Readonly<Record<string, unknown>>): Details =>
  typeof resourceType === 'string' && /^[A-Z][A-Za-z]{0,63}$/.test(resourceType) ? { type: resourceType } : {}
const issuesOf = (issues: readonly unknown[]): Details => ({ issues: issues.length })

export const tracedValidator = (validator: Validator, traces: OpenTraces): Validator =>
  withMethods(validator, {
    validateWrite: (resource, options) => {
      const validate = () => validator.validateWrite(resource, options)
      const details = { step: 'write', ...typeOf(resource) }
      return traces.current()?.time('validation', details, validate, issuesOf) ?? validate()
    },
    check: (resource, options) => {
      const check = () => validator.check(resource, options)
      return traces.current()?.time('validation', { step: 'check', ...typeOf(resource) }, check, issuesOf) ?? check()
    },
  })

const codesOf = (codes: readonly unknown[] | undefined): Details => ({ codes: codes?.length ?? 'unknown' })

export const tracedTerminology = (terminology: Terminology, traces: OpenTraces): Terminology =>
  withMethods(terminology, {
    expand: (valueSet, most) => {
      const expand = () => terminology.expand(valueSet, most)
      return traces.current()?.time('terminology', { step: 'expand' }, expand, codesOf) ?? expand()
    },
    related: (code, direction, most) => {
      const find = () => terminology.related(code, direction, most)
      return traces.current()?.time('terminology', { step: direction }, find, codesOf) ?? find()
    },
  })
