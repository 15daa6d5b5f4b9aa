import { type AsyncDocument, socketChapters } from '#routes/pages/socket-chapters'

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
