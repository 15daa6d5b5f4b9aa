/** The two pages at `/docs`. Links are relative, for proxies with a path prefix. */

/** The page at `/docs`: the HTTP API, shown by Swagger UI. */
export function apiPage(): string {
  return page({
    title: 'HTTP API',
    current: 'docs',
    head: `<link rel="stylesheet" href="docs/swagger-ui.css">
<script src="docs/swagger-ui-bundle.js" defer></script>
<script src="docs/show-api.js" type="module"></script>`,
    body: `<main id="api" class="swagger"><noscript><p>The document itself is at <a href="api/v1/openapi.json">api/v1/openapi.json</a>.</p></noscript></main>`,
  })
}

/** The page at `/docs/websockets.html`: messages of websockets and MQTT, without scripts. */
export function socketsPage(document: AsyncDocument): string {
  return page({
    title: 'Websockets',
    current: 'docs/websockets.html',
    head: '',
    body: `<main class="sockets">\n${socketChapters(document)}\n</main>`,
  })
}

interface Page {
  readonly title: string
  /** The path of the page, without a slash at the beginning. */
  readonly current: string
  readonly head: string
  readonly body: string
}

const places = [
  { address: 'docs', text: 'HTTP' },
  { address: 'docs/websockets.html', text: 'Websockets' },
  { address: 'api/v1/openapi.json', text: 'OpenAPI' },
  { address: 'api/v1/asyncapi.json', text: 'AsyncAPI' },
] as const

function page({ title, current, head, body }: Page): string {
  const up = '../'.repeat(current.split('/').length - 1)
  const link = ({ address, text }: (typeof places)[number]) =>
    `<a href="${up}${address}"${address === current ? ' aria-current="page"' : ''}>${text}</a>`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title} – Device Data Backend</title>
<link rel="icon" href="${up}docs/favicon-32x32.png" type="image/png">
<link rel="stylesheet" href="${up}docs/viewer.css">
${head}
</head>
<body>
<nav class="top" aria-label="Documents"><strong><a href="${up || './'}">Device Data Backend</a></strong>
${places.map(link).join('\n')}
</nav>
${body}
</body>
</html>
`
}

/** The displayed parts of an AsyncAPI document. https://www.asyncapi.com/docs/reference/specification/v3.0.0 */
export interface AsyncDocument {
  readonly info: { readonly title: string; readonly description: string }
  readonly channels: Readonly<Record<string, Channel>>
  readonly operations: Readonly<Record<string, Operation>>
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}

interface Channel {
  readonly address: string
  readonly title: string
  readonly description: string
  /** Present for a websocket, absent for a topic of MQTT. */
  readonly bindings?: { readonly ws: { readonly query?: Query } }
  readonly messages: Readonly<Record<string, Message | Reference>>
}

interface Query {
  readonly properties: Readonly<Record<string, { readonly description?: string }>>
}

interface Message {
  readonly name: string
  readonly summary: string
  readonly contentType: string
  readonly payload: object
  readonly examples: readonly { readonly payload: unknown }[]
}

/** A reference to another part of the document. */
interface Reference {
  readonly $ref: string
}

interface Operation {
  readonly action: 'send' | 'receive'
  readonly channel: Reference
  readonly messages: readonly Reference[]
}

/** The document as sections of a page: each websocket and topic with its messages, then the schemas they refer to. */
function socketChapters({ info, channels, operations, components }: AsyncDocument): string {
  const actions = new Map(
    Object.values(operations).flatMap(({ action, messages }) => messages.map(({ $ref }) => [$ref, action] as const)),
  )
  const contents = Object.entries(channels).map(([id, { title }]) => `<li><a href="#${id}">${escaped(title)}</a></li>`)
  const chapters = Object.entries(channels).map(([id, channel]) => chapterOf(id, channel, actions))
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) => `<details id="schema-${name}"><summary><code>${name}</code></summary>${json(schema)}</details>`,
  )
  return `<h1>${escaped(info.title)}: websockets and MQTT</h1>
${prose(info.description)}
<ul>
${contents.join('\n')}
<li><a href="#schemas">Schemas</a></li>
</ul>
${chapters.join('\n')}
<h2 id="schemas">Schemas</h2>
${schemas.join('\n')}`
}

function chapterOf(id: string, channel: Channel, actions: ReadonlyMap<string, 'send' | 'receive'>): string {
  const { address, title, description, bindings, messages } = channel
  const query = Object.entries(bindings?.ws.query?.properties ?? {}).map(
    ([name, field]) => `<dt><code>${name}</code></dt><dd>${inline(field.description ?? '')}</dd>`,
  )
  const shown = Object.entries(messages).map(([name, message]) =>
    '$ref' in message
      ? `<p><code>${escaped(name)}</code>, as in <a href="#${message.$ref.split('/')[2]}">${message.$ref.split('/')[2]}</a></p>`
      : messageOf(message, actions.get(`#/channels/${id}/messages/${name}`) === 'receive'),
  )
  return `<section aria-labelledby="${id}">
<h2 id="${id}">${escaped(title)}</h2>
<pre><code>${bindings ? 'GET /api/v1' : ''}${escaped(address)}</code></pre>
${prose(description)}
${query.length > 0 ? `<h3>Query</h3>\n<dl>${query.join('\n')}</dl>` : ''}
<h3>Messages</h3>
${shown.join('\n')}
</section>`
}

function messageOf({ name, summary, contentType, payload, examples }: Message, isReceived: boolean): string {
  const way = isReceived ? '<span class="received">to the server</span>' : '<span class="sent">from the server</span>'
  // For binary messages the text is no valid example.
  const shown = contentType === 'application/json' ? examples.map(({ payload: example }) => json(example)) : []
  return `<details><summary><code>${escaped(name)}</code> ${way}<small>${inline(summary)}</small></summary>
${shown.join('\n')}
${json(payload)}
</details>`
}

/** Paragraphs with Markdown code and emphasis. */
function prose(text: string): string {
  return text
    .split('\n\n')
    .map((paragraph) => `<p>${inline(paragraph)}</p>`)
    .join('\n')
}

function inline(text: string): string {
  return escaped(text)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
    .replace(/\*([^*]+)\*/g, '<em>$1</em>')
}

/** Schema references become links. */
function json(value: unknown): string {
  const text = escaped(JSON.stringify(value, null, 2)).replace(
    /#\/components\/schemas\/(\w+)/g,
    '<a href="#schema-$1">$1</a>',
  )
  return `<pre><code>${text}</code></pre>`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
