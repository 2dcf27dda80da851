/** Errors of bodies in XML, and of resources that XML cannot hold. https://hl7.org/fhir/R4/xml.html */
import { defineError } from '../../../kernel/index.ts'

export const XmlEmpty = defineError('fhir/xml-empty', 400, 'structure', 'The body is empty; send a resource as XML.')
export const XmlMalformed = defineError(
  'fhir/xml-malformed',
  400,
  'structure',
  'The body is not well-formed XML: line %s, column %s: %s.',
)
export const XmlEncoding = defineError(
  'fhir/xml-encoding',
  400,
  'structure',
  'The body says that it is %s; send XML 1.0 in UTF-8.',
)
export const XmlDoctype = defineError(
  'fhir/xml-doctype',
  400,
  'security',
  'Line %s, column %s: a DOCTYPE is refused, and entities are not expanded. Send the resource without it.',
)
export const XmlInstruction = defineError(
  'fhir/xml-instruction',
  400,
  'structure',
  'Line %s, column %s: a processing instruction is refused. Send the resource without it.',
)
export const XmlType = defineError(
  'fhir/xml-type',
  400,
  'structure',
  'Line %s, column %s: "%s" is not a resource type that this server knows; /metadata lists those that are.',
)
export const XmlNamespace = defineError(
  'fhir/xml-namespace',
  400,
  'structure',
  'Line %s, column %s: the element "%s" is in the namespace "%s"; here it has to be in "%s".',
)
export const XmlElement = defineError(
  'fhir/xml-element',
  400,
  'structure',
  'Line %s, column %s: there is no element "%s" in %s.',
)
export const XmlOrder = defineError(
  'fhir/xml-order',
  400,
  'structure',
  'Line %s, column %s: the element "%s" of %s stands behind one that comes after it; elements have the order of the definition.',
)
export const XmlTwice = defineError(
  'fhir/xml-twice',
  400,
  'structure',
  'Line %s, column %s: the element "%s" of %s does not repeat.',
)
export const XmlAttribute = defineError(
  'fhir/xml-attribute',
  400,
  'structure',
  'Line %s, column %s: the element "%s" has no attribute "%s".',
)
export const XmlAttributeEmpty = defineError(
  'fhir/xml-attribute-empty',
  400,
  'structure',
  'Line %s, column %s: the attribute "%s" of "%s" is empty; leave it out or give it a value.',
)
export const XmlValue = defineError(
  'fhir/xml-value',
  400,
  'value',
  'Line %s, column %s: the value of "%s" is not of the type %s.',
)
export const XmlNoContent = defineError(
  'fhir/xml-no-content',
  400,
  'structure',
  'Line %s, column %s: the element "%s" is empty; it needs %s.',
)
export const XmlText = defineError(
  'fhir/xml-text',
  400,
  'structure',
  'Line %s, column %s: there is text in %s; values are in the attribute "value".',
)
export const XmlOneResource = defineError(
  'fhir/xml-one-resource',
  400,
  'structure',
  'Line %s, column %s: the element "%s" holds one resource; "%s" is a second one.',
)
export const XmlDepth = defineError(
  'fhir/xml-depth',
  400,
  'too-costly',
  'Line %s, column %s: the elements nest too deeply; the limit of levels is %s.',
)
export const XmlUndefined = defineError(
  'fhir/xml-undefined',
  400,
  'not-supported',
  'XML with the type %s cannot be read, because the installed packages do not define it.',
)
export const NotInXml = defineError(
  'fhir/not-in-xml',
  406,
  'not-supported',
  'The answer cannot be written as XML: %s. Ask for application/fhir+json.',
)
