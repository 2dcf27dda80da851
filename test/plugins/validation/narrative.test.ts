/** txt-1 and txt-2. https://hl7.org/fhir/R4/narrative.html; bad input row 27. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createNarrativeCheck } from '../../../plugins/validation/structure/xhtml.ts'

const check = createNarrativeCheck()
const NS = 'xmlns="http://www.w3.org/1999/xhtml"'
const div = (inner: string) => `<div ${NS}>${inner}</div>`

const sound: readonly string[] = [
  div('a'),
  ` \n${div('a')}\n`,
  `<div  xmlns = 'http://www.w3.org/1999/xhtml' >a</div >`,
  `<div class="x" ${NS} id="y">a</div>`,
  div('é😀 > " \' ]]'),
  div('a &amp; b &lt; &gt; &quot; &apos; &#160; &#xA0; &#x1F600;'),
  div('<p><b>a</b><i>b</i><br/><br /><hr></hr></p>'),
  div('<!-- a <script> in a comment --><p>x</p><!---->'),
  div('<!-- ]]> --><p title="]]>" lang="de">]] &gt; ]]&gt;</p>'),
  div('<img src="a.png" alt=""/>'),
  div('<img src="#img1"/>'),
  div('<img src="data:image/png;base64,AAAA"/>'),
  div('<a href="http://example.org/?a=1&amp;b=2#c">x</a><a name="y"/><a href="#z">z</a><a href="mailto:a@b.c">m</a>'),
  div('<a href="Patient/1">x</a><a href="../x:y">y</a><a href="tel:+1">t</a>'),
  div('<p style="color: red; background-image: none">x</p><p style=\'font-family: "Arial"\'>y</p>'),
  div('<a href="hxx:y">x</a><a href="y.html?a:b">y</a><p style="-webkit-x: harm; margin: -2px">z</p>'),
  div('<p lang="de" xml:lang="de" title="javascript: is only text here">x</p>'),
  div('<blockquote cite="http://x">x</blockquote><h1>1</h1><h6>6</h6><acronym title="x">a</acronym>'),
  div('<div xmlns="http://www.w3.org/1999/xhtml">nested</div>'),
  div(`<p>${'x'.repeat(100_000)}</p>`),
  div(`${'<b>'.repeat(5000)}x${'</b>'.repeat(5000)}`),
]

const refused: readonly (readonly [why: string, narrative: string, says: string])[] = [
  ['text only', 'hello', 'does not start'],
  ['nothing', '', 'does not start'],
  ['another root', `<p ${NS}>x</p>`, '<p> where a <div>'],
  ['no namespace', '<div>x</div>', 'lacks xmlns'],
  ['another namespace', '<div xmlns="http://hl7.org/fhir">x</div>', 'namespace'],
  ['a namespace inside', div('<p xmlns="http://www.w3.org/2000/svg">x</p>'), 'namespace'],
  ['a prefix', '<h:div xmlns:h="http://www.w3.org/1999/xhtml">x</h:div>', 'not allowed'],
  ['two roots', div('x') + div('y'), 'after its </div>'],
  ['text after the root', `${div('x')} y`, 'after its </div>'],
  ['text before the root', `y ${div('x')}`, 'does not start'],
  ['a comment before the root', `<!-- x -->${div('x')}`, 'does not start'],
  ['an XML declaration', `<?xml version="1.0"?>${div('x')}`, 'does not start'],
  ['a DOCTYPE', `<!DOCTYPE div>${div('x')}`, 'does not start'],
  [
    'an entity bomb',
    `<!DOCTYPE div [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>${div('&c;')}`,
    'does not start',
  ],
  ['an external entity', `<!DOCTYPE div [<!ENTITY x SYSTEM "file:///etc/passwd">]>${div('&x;')}`, 'does not start'],
  ['a DOCTYPE inside', div('<!DOCTYPE x>y'), 'DOCTYPE or CDATA'],
  ['CDATA', div('<![CDATA[<script>x</script>]]>'), 'DOCTYPE or CDATA'],
  ['the end of CDATA in text', div('x ]]> y'), 'written as "&gt;"'],
  ['a character beyond XML', div('a\uffffb'), 'character XML does not allow'],
  ['a processing instruction', div('<?php x ?>y'), 'processing instruction'],
  ['an entity of HTML', div('a&nbsp;b'), 'entity that XML does not define'],
  ['an ampersand alone', div('a & b'), 'entity'],
  ['an ampersand at the end', div('a &amp'), 'entity'],
  ['an entity of HTML in an attribute', div('<p title="&copy;">x</p>'), 'entity'],
  ['a reference to NUL', div('a&#0;'), 'character XML does not allow'],
  ['a reference to a surrogate', div('a&#xD800;'), 'character XML does not allow'],
  ['a reference beyond Unicode', div('a&#x110000;'), 'character XML does not allow'],
  ['NUL', div('a\0b'), 'character XML does not allow'],
  ['NUL after the root', `${div('a')}\0`, 'character XML does not allow'],
  ['NUL after what is no narrative', 'a\0', 'character XML does not allow'],
  ['a control character', div('a\u0001b'), 'character XML does not allow'],
  ['a control character in an attribute', div('<p title="\u0001">b</p>'), 'character XML does not allow'],
  ['a lone surrogate', div('a\ud800b'), 'character XML does not allow'],
  ['an element that is not closed', `<div ${NS}><p>x</div>`, '<p> is not closed'],
  ['a root that is not closed', `<div ${NS}>x`, '<div> is not closed'],
  ['a root that is cut', `<div ${NS}>x</di`, '<div> is not closed'],
  ['elements that overlap', div('<b><i>x</b></i>'), '<i> is not closed'],
  ['one closing too many', `${div('x')}</div>`, 'after its </div>'],
  ['a tag without a name', div('a < b'), 'starts no tag'],
  ['HTML that closes nothing', div('a<br>b'), '<br> is not closed'],
  ['upper case', `<DIV ${NS}>x</DIV>`, 'not allowed'],
  ['an attribute without a value', div('<p nowrap>x</p>'), 'no value'],
  ['an attribute without quotes', div('<p class=x>x</p>'), 'not quoted'],
  ['an attribute that does not end', div('<p class="x>x</p>'), 'contains <'],
  ['an attribute twice', div('<p id="a" id="b">x</p>'), 'twice'],
  ['attributes without a space between', div('<p id="a"class="b">x</p>'), 'not well-formed'],
  ['a tag that does not end', `<div ${NS}><p `, 'not well-formed'],
  ['a slash inside a tag', div('<p / id="a">x</p>'), 'not well-formed'],
  ['< in an attribute', div('<p title="<">x</p>'), 'contains <'],
  ['a comment with two hyphens', div('<!-- a -- b -->x'), 'comment'],
  ['a comment that HTML ends early', div('<!--><script>x</script>-->x'), 'comment'],
  ['another comment that HTML ends early', div('<!---><script>x</script>-->x'), 'comment'],
  ['a comment that does not end', div('<!-- x'), 'comment'],
  ...['script', 'style', 'head', 'body', 'iframe', 'frame', 'object', 'embed', 'applet', 'form', 'input', 'button'].map(
    (element) => [element, div(`<${element}>x</${element}>`), 'not allowed'] as const,
  ),
  ...[
    'link',
    'base',
    'meta',
    'svg',
    'math',
    'video',
    'audio',
    'ins',
    'del',
    'center',
    'x',
    'divx',
    'sVg',
    'im',
    'h7',
    'dí',
  ].map((element) => [element, div(`<${element}/>x`), 'not allowed'] as const),
  ...[
    'onclick',
    'onload',
    'onerror',
    'onmouseover',
    'formaction',
    'srcset',
    'data-x',
    'xlink:href',
    'action',
    'hre',
    'styles',
  ].map((name) => [name, div(`<p ${name}="x">x</p>`), 'not allowed'] as const),
  ...[
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    ' javascript:alert(1)',
    'java\nscript:alert(1)',
    'java&#10;script:alert(1)',
    '&#106;avascript:alert(1)',
    '&#x6A;avascript&#58;alert(1)',
    '\u00a0javascript:alert(1)',
    'vbscript:x',
    'data:text/html,&lt;script&gt;x&lt;/script&gt;',
    'data:text/html;base64,AAAA',
    'blob:http://x',
    'livescript:x',
    'mocha:x',
    'filesystem:http://x/y',
    'view-source:javascript:x',
    '&#9;javascript:x',
  ].map((url) => [url, div(`<a href="${url}">x</a>`), 'execute'] as const),
  ['an image that is HTML', div('<img src="data:text/html,x"/>'), 'execute'],
  ['a citation that is a script', div('<q cite="javascript:x">x</q>'), 'execute'],
  ...[
    'width: expression(alert(1))',
    'width: exp/**/ression(alert(1))',
    'width: \\65xpression(alert(1))',
    'width: e\\xpression(alert(1))',
    'background: url(javascript:alert(1))',
    'background: url(java&#115;cript:alert(1))',
    'behavior: url(x.htc)',
    '-moz-binding: url(x)',
    '@import url(x)',
    'width: EXPRESSION(alert(1))',
    'width: eXPression(alert(1))',
    'background: url(JAVASCRIPT:alert(1))',
    'background: url(VbScRipt:alert(1))',
    'BEHAVIOUR: url(x.htc)',
    'beHavior: url(x.htc)',
    '-MOZ-BINDING: url(x)',
  ].map((style) => [style, div(`<p style="${style}">x</p>`), 'execute'] as const),
]

const empty: readonly string[] = [
  div(''),
  div(' \n\t'),
  div('<p/>'),
  div('<p> </p>'),
  div('<!-- x -->'),
  div('<img alt="x"/>'),
  `<div ${NS}/>`,
]

test('a narrative of basic formatting is accepted', () => {
  for (const narrative of sound) assert.is(check(narrative), null, narrative.slice(0, 200))
})

for (const [why, narrative, says] of refused) {
  test(`a narrative with this is refused by txt-1: ${why.trim().replaceAll(/[^ -~]/g, '?')}`, () => {
    const fault = String(check(narrative))
    assert.ok(fault.startsWith('txt-1: '), fault)
    assert.ok(fault.includes(says), fault)
    assert.ok(fault.length < 300)
  })
}

test('a narrative that shows nothing is refused by txt-2', () => {
  for (const narrative of empty) assert.ok(check(narrative)?.startsWith('txt-2: '), `${narrative}: ${check(narrative)}`)
})

test('cutting a sound narrative anywhere makes it unsound', () => {
  const narrative = div('<p title="a">b &amp; <b>c</b></p><!-- d --><br/>é')
  assert.is(check(narrative), null)
  for (let end = 0; end < narrative.length; end++) assert.ok(check(narrative.slice(0, end)) !== null, String(end))
})

test('a refused narrative leaves nothing behind for the next one', () => {
  assert.ok(check(div('<p><b>x')) !== null)
  assert.is(check(div('x')), null)
  assert.ok(check(div('x').repeat(2)) !== null)
  assert.ok(check(div(''))?.startsWith('txt-2'))
})

test('a narrative of several megabytes takes linear time, sound or not', () => {
  assert.is(check(div('<p>é</p>'.repeat(500_000))), null)
  assert.ok(check(div('<p>'.repeat(500_000))) !== null)
  assert.ok(check(`<div ${NS}>${'&'.repeat(3_000_000)}`) !== null)
  assert.ok(check(div('<!--'.repeat(500_000))) !== null)
  assert.ok(check(div(`<p style="${'/*'.repeat(500_000)}">x</p>`)) === null)
  assert.ok(check(div(`<p style="${'/**/\\'.repeat(500_000)}">x</p>`)) === null)
  assert.ok(check(`<div ${'a'.repeat(3_000_000)}`) !== null)
  assert.ok(check(`<div title="${'x'.repeat(3_000_000)}`) !== null)
})

test.run()
