/**
 * patch: changes a resource by its id, or the one that matches a condition. In a Bundle the patch is in a Binary, or is
 * the Parameters of a FHIRPath Patch. https://hl7.org/fhir/R4/http.html#patch
 */
import { isServerError } from '../../../kernel/index.ts'
import { type Elements, isResourceId, NotLoaded, type TypeCatalog, typeOf } from '../../model/service.ts'
import type { Change } from '../../storage/service.ts'
import { Contended, Deleted, NotFound } from '../../storage/service.ts'
import type { Relink } from '../bundle/patch-links.ts'
import { NoneMatches } from '../errors.ts'
import { checkAccept, isXmlType } from '../http/media.ts'
import { type LargeBodies, UnreadableBody } from '../large/large-bodies.ts'
import { PatchMalformed } from '../patch/errors.ts'
import { formOf, type Patch, readPatch, readPatchText } from '../patch/patch.ts'
import { AS_STORED, readPrefer, readQueryParameters } from '../presentation/presentation-parameters.ts'
import { readPrecondition } from '../response/etag.ts'
import type { XmlConversion } from '../xml/conversion.ts'
import { changedAnswer } from './answer.ts'
import type { AddressChange } from './change.ts'
import { warningsList } from './check-content.ts'
import { checkAnyMatch, locateMatch } from './conditional.ts'
import type { Modification, SentPatch, ToModification } from './modify.ts'
import { queryOf } from './query-of.ts'
import { type InteractionRequest, interactionOf } from './request.ts'

const BASE64 = /^[A-Za-z0-9+/\s]*={0,2}\s*$/

interface PatchEntry {
  readonly text: string
  readonly resource: Record<string, unknown>
  /** In a transaction: replaces links to other entries in the patched resource. */
  readonly relink?: Relink | undefined
}

const jsonOf = async ({ xml }: PatchParts, { ctx }: InteractionRequest, bytes: Uint8Array): Promise<Uint8Array> => {
  const read = await xml.read(ctx, bytes)
  if (read instanceof UnreadableBody) throw read.error
  return read
}

/** The patch in the resource of an entry. Throws 400, 415. */
const readEntry = async (
  parts: PatchParts,
  request: InteractionRequest,
  { text, resource, relink }: PatchEntry,
): Promise<SentPatch> => {
  if (resource.resourceType !== 'Binary') return { form: 'fhirpath', bytes: Buffer.from(text), relink }
  const { contentType, data } = resource
  const form = formOf(typeof contentType === 'string' ? contentType : 'none')
  if (typeof data !== 'string' || !BASE64.test(data)) throw PatchMalformed('the Binary has no data in base64')
  const bytes = Buffer.from(data, 'base64')
  return { form, bytes: isXmlType(contentType as string) ? await jsonOf(parts, request, bytes) : bytes, relink }
}

/** The body of a request is JSON by now. */
const readPatchBody = async (parts: PatchParts, request: InteractionRequest, body: unknown): Promise<SentPatch> => {
  if (body instanceof UnreadableBody) throw body.error
  if (body !== undefined && !(body instanceof Uint8Array)) return readEntry(parts, request, body as PatchEntry)
  return { form: formOf(request.headers['content-type'] ?? 'none'), bytes: body ?? new Uint8Array() }
}

export interface PatchParts {
  readonly catalog: Pick<TypeCatalog, 'types'>
  readonly elements: Elements
  readonly large: Pick<LargeBodies, 'concerns'>
  readonly toModification: ToModification
  readonly xml: Pick<XmlConversion, 'read'>
}

/** Runs `prepare` again each time it needs the elements of a type that is not loaded yet. */
const prepareLoading = async ({ elements }: PatchParts, prepare: () => Promise<Change>): Promise<Change> => {
  const loaded = new Set<string>()
  for (;;)
    try {
      return await prepare()
    } catch (error) {
      if (!(error instanceof NotLoaded) || loaded.has(error.type)) throw error
      loaded.add(error.type)
      await elements.load(error.type)
    }
}

export const patch =
  (parts: PatchParts): AddressChange =>
  (view, request) => {
    const { params, headers, url, ctx } = request
    const { id } = params
    const type = typeOf(parts, params.type)
    if (id !== undefined && !isResourceId(id)) throw NotFound(type.name, id.slice(0, 64))
    const prefer = readPrefer(headers.prefer)
    const { presentation } =
      id === undefined ? { presentation: AS_STORED } : readQueryParameters(url, [], prefer.lenient)
    checkAccept(headers.accept, presentation.format)
    const precondition = readPrecondition(headers)
    const interaction = interactionOf(request, { kind: 'patch', type: type.name, id })
    return {
      interaction,
      async locate() {
        if (id !== undefined) return { id }
        const { found, verify } = await locateMatch(view, request, type.name, queryOf(url))
        checkAnyMatch(type.name, found, precondition)
        if (found === undefined) throw NoneMatches(type.name)
        return { id: found.id, found, verify }
      },
      async prepare(guard, target, body) {
        const patch = await readPatchBody(parts, request, body)
        const isLarge = parts.large.concerns(patch.bytes)
        const apply: Patch | undefined = isLarge
          ? undefined
          : readPatch(parts.elements, type.name, patch.form, readPatchText(patch.bytes))
        const warnings = warningsList(prefer)
        const revision: Modification = {
          request: ctx,
          interaction: { ...interaction, id: target.id },
          type: type.name,
          id: target.id,
          guard,
          precondition,
          warnings,
          modify(json) {
            const patched = apply?.(json)
            return patched === undefined || patch.relink === undefined ? patched : patch.relink.apply(patched, json)
          },
          patch,
        }
        const change = await prepareLoading(parts, () => parts.toModification(view, revision)).catch((error) => {
          // The match was deleted after the search, so the interaction is retried.
          throw target.found !== undefined && isServerError(error) && error.key === Deleted.key ? Contended() : error
        })
        return {
          change: change.kind === 'modify' ? { ...change, rebase: redoOr(change.rebase) } : change,
          answer: ({ version }) => ({
            ...changedAnswer(200, version, type, guard, prefer, presentation, warnings),
            isMatch: id === undefined,
          }),
        }
      },
    }
  }

/** Nothing can be loaded inside the transaction, so the interaction is retried. */
const redoOr =
  <T, U>(redo: (current: T) => U) =>
  (current: T): U => {
    try {
      return redo(current)
    } catch (error) {
      throw error instanceof NotLoaded ? Contended() : error
    }
  }
