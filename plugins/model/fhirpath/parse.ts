/**
 * FHIRPath text → a tree, and back. Knows the whole expression grammar but date and quantity literals, which neither
 * invariants nor search parameters use; whatever it does not know it refuses, and fhirpath.js takes over. What of it can
 * be performed is the matter of those who use it. http://hl7.org/fhirpath/N1/grammar.html
 */

export type Expression =
  | { readonly kind: 'literal'; readonly value: string | number | boolean }
  | { readonly kind: 'empty' }
  | { readonly kind: 'this' }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'member'; readonly on: Expression | undefined; readonly name: string }
  | {
      readonly kind: 'call'
      readonly on: Expression | undefined
      readonly name: string
      readonly arguments: readonly Expression[]
    }
  | { readonly kind: 'item'; readonly on: Expression; readonly index: Expression }
  | { readonly kind: 'binary'; readonly operator: string; readonly left: Expression; readonly right: Expression }
  | { readonly kind: 'negative'; readonly of: Expression }
  | { readonly kind: 'type'; readonly operator: 'is' | 'as'; readonly on: Expression; readonly type: string }

/** The expression, or the values it meets, are beyond what is compiled here. */
export class NotSupported extends Error {}

interface Token {
  readonly kind: 'name' | 'string' | 'number' | 'symbol' | 'variable' | 'this' | 'end'
  readonly text: string
}

const TOKEN =
  /\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/|(?<name>[A-Za-z_][A-Za-z0-9_]*)|`(?<quoted>(?:[^`\\]|\\.)*)`|'(?<string>(?:[^'\\]|\\.)*)'|(?<number>[0-9]+(?:\.[0-9]+)?)|%(?<variable>[A-Za-z_][A-Za-z0-9_-]*|`[^`]*`|'[^']*')|(?<self>\$this)|(?<symbol><=|>=|!=|!~|[-+*/&|<>=~.,()[\]{}])/y

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', f: '\f' }

const unquote = (text: string): string =>
  text.replace(/\\(?:u([0-9a-fA-F]{4})|(.))/gs, (_, hex, one) =>
    hex === undefined ? (ESCAPES[one] ?? one) : String.fromCharCode(Number.parseInt(hex, 16)),
  )

const tokens = (text: string): Token[] => {
  const list: Token[] = []
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex
    const groups = TOKEN.exec(text)?.groups
    if (groups === undefined) throw new NotSupported(`${text.slice(at, at + 20)} is not understood`)
    const { name, quoted, string, number, variable, self, symbol } = groups
    if (name !== undefined) list.push({ kind: 'name', text: name })
    else if (quoted !== undefined) list.push({ kind: 'name', text: `\`${unquote(quoted)}` })
    else if (string !== undefined) list.push({ kind: 'string', text: unquote(string) })
    else if (number !== undefined) list.push({ kind: 'number', text: number })
    else if (variable !== undefined) list.push({ kind: 'variable', text: variable.replaceAll(/[`']/g, '') })
    else if (self !== undefined) list.push({ kind: 'this', text: self })
    else if (symbol !== undefined) list.push({ kind: 'symbol', text: symbol })
  }
  list.push({ kind: 'end', text: '' })
  return list
}

/** Binary operators from the weakest to the strongest. */
const LEVELS: readonly (readonly string[])[] = [
  ['implies'],
  ['or', 'xor'],
  ['and'],
  ['in', 'contains'],
  ['=', '!=', '~', '!~'],
  ['<', '>', '<=', '>='],
  ['|'],
  ['is', 'as'],
  ['+', '-', '&'],
  ['*', '/', 'div', 'mod'],
]

const LEVEL_OF: ReadonlyMap<string, number> = new Map(
  LEVELS.flatMap((operators, level) => operators.map((operator) => [operator, level])),
)

/** How strongly an operator binds; undefined for what is none. A name in backticks is none. */
const levelOf = ({ kind, text }: Token): number | undefined =>
  kind === 'symbol' || kind === 'name' ? LEVEL_OF.get(text) : undefined

/** Throws NotSupported. */
export const parse = (expression: string): Expression => {
  const list = tokens(expression)
  let at = 0
  const peek = (): Token => list[at]!
  const take = (): Token => list[at++]!
  const isSymbol = (text: string): boolean => peek().kind === 'symbol' && peek().text === text
  const expect = (text: string): void => {
    if (!isSymbol(text)) throw new NotSupported(`${text} expected, not ${peek().text}`)
    at++
  }
  const nameOf = ({ kind, text }: Token): string => {
    if (kind !== 'name') throw new NotSupported(`a name expected, not ${text}`)
    return text.startsWith('`') ? text.slice(1) : text
  }

  const typeName = (): string => {
    let name = nameOf(take())
    while (isSymbol('.')) {
      at++
      name += `.${nameOf(take())}`
    }
    return name
  }

  const invocation = (on: Expression | undefined): Expression => {
    const name = nameOf(take())
    if (!isSymbol('(')) return { kind: 'member', on, name }
    at++
    const given: Expression[] = []
    while (!isSymbol(')')) {
      if (given.length > 0) expect(',')
      given.push(binary(0))
    }
    at++
    return { kind: 'call', on, name, arguments: given }
  }

  const term = (): Expression => {
    const token = peek()
    switch (token.kind) {
      case 'string':
        at++
        return { kind: 'literal', value: token.text }
      case 'number':
        at++
        return { kind: 'literal', value: Number(token.text) }
      case 'variable':
        at++
        return { kind: 'variable', name: token.text }
      case 'this':
        at++
        return { kind: 'this' }
      case 'name':
        if ((token.text === 'true' || token.text === 'false') && list[at + 1]?.text !== '(') {
          at++
          return { kind: 'literal', value: token.text === 'true' }
        }
        return invocation(undefined)
      default:
        break
    }
    if (isSymbol('{')) {
      at++
      expect('}')
      return { kind: 'empty' }
    }
    expect('(')
    const inner = binary(0)
    expect(')')
    return inner
  }

  const postfix = (): Expression => {
    let node = term()
    for (;;) {
      if (isSymbol('.')) {
        at++
        if (peek().kind !== 'name') throw new NotSupported(`a name expected after a dot, not ${peek().text}`)
        node = invocation(node)
      } else if (isSymbol('[')) {
        at++
        const index = binary(0)
        expect(']')
        node = { kind: 'item', on: node, index }
      } else return node
    }
  }

  const signed = (): Expression => {
    if (isSymbol('-')) {
      at++
      return { kind: 'negative', of: signed() }
    }
    if (isSymbol('+')) at++
    return postfix()
  }

  /** An expression of operators that bind at least as strongly as `least`. */
  const binary = (least: number): Expression => {
    let left = signed()
    // What binds more strongly than the operator before has been taken as its right side, or cannot follow a type.
    let most = LEVELS.length
    for (;;) {
      const level = levelOf(peek())
      if (level === undefined || level < least || level > most) return left
      const operator = take().text
      left =
        operator === 'is' || operator === 'as'
          ? { kind: 'type', operator, on: left, type: typeName() }
          : { kind: 'binary', operator, left, right: binary(level + 1) }
      most = level
    }
  }

  const node = binary(0)
  if (peek().kind !== 'end') throw new NotSupported(`${peek().text} is not expected`)
  return node
}

/** The members of a union, in order. */
export const unionOperands = (expression: Expression): readonly Expression[] =>
  expression.kind === 'binary' && expression.operator === '|'
    ? [...unionOperands(expression.left), ...unionOperands(expression.right)]
    : [expression]

const nameText = (name: string): string =>
  /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : `\`${name.replace(/[`\\]/g, '\\$&')}\``

/** The text of an expression, in one spelling for equal trees. */
export const print = (expression: Expression): string => {
  const on = (one: Expression | undefined): string => (one === undefined ? '' : `${print(one)}.`)
  switch (expression.kind) {
    case 'literal':
      return typeof expression.value === 'string'
        ? `'${expression.value.replace(/['\\]/g, '\\$&')}'`
        : String(expression.value)
    case 'empty':
      return '{}'
    case 'this':
      return '$this'
    case 'variable':
      return `%${expression.name}`
    case 'member':
      return on(expression.on) + nameText(expression.name)
    case 'call':
      return `${on(expression.on)}${nameText(expression.name)}(${expression.arguments.map(print).join(', ')})`
    case 'item':
      return `${print(expression.on)}[${print(expression.index)}]`
    case 'binary':
      return `(${print(expression.left)} ${expression.operator} ${print(expression.right)})`
    case 'negative':
      return `(-${print(expression.of)})`
    case 'type':
      return `(${print(expression.on)} ${expression.operator} ${expression.type.split('.').map(nameText).join('.')})`
  }
}
