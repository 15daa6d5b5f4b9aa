/** A decoded mail. RFC 5322, 2045, 2047. */
export interface ReadMail {
  /** In order, unfolded, with names in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly subject: string
  readonly text: string
  readonly html: string | undefined
}

export function readMail(raw: string): ReadMail {
  const { headers, body } = partOf(raw)
  const boundary = /boundary="([^"]+)"/.exec(headerOf(headers, 'content-type'))?.[1]
  const parts = boundary === undefined ? [{ headers, body }] : partsOf(body, boundary)
  const textOf = (type: string) => {
    const part = parts.find((each) => headerOf(each.headers, 'content-type').startsWith(type))
    return part && decodedBody(part.body, headerOf(part.headers, 'content-transfer-encoding'))
  }
  return {
    headers,
    subject: decodedWords(headerOf(headers, 'subject')),
    text: textOf('text/plain') ?? '',
    html: textOf('text/html'),
  }
}

/** All values of this name, joined, so that tests notice a repeated header. */
export function headerOf(headers: ReadMail['headers'], name: string): string {
  return headers
    .filter(([each]) => each === name)
    .map(([, value]) => value)
    .join(' AND ')
}

function partOf(raw: string): { headers: ReadMail['headers']; body: string } {
  const end = raw.indexOf('\r\n\r\n')
  const lines = raw
    .slice(0, end)
    .replace(/\r\n(?=[ \t])/g, '')
    .split('\r\n')
  const headers = lines.map((line): [string, string] => {
    const [, name = '', value = ''] = /^([!-9;-~]+):[ \t]?(.*)$/s.exec(line) ?? []
    if (name === '') throw new Error(`no header: ${JSON.stringify(line)}`)
    return [name.toLowerCase(), value]
  })
  return { headers, body: raw.slice(end + 4) }
}

function partsOf(body: string, boundary: string) {
  return body
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => partOf(part.replace(/^\r\n/, '').replace(/\r\n$/, '')))
}

function decodedBody(body: string, encoding: string): string {
  const decoded =
    encoding === 'base64'
      ? Buffer.from(body, 'base64').toString()
      : encoding === 'quoted-printable'
        ? Buffer.from(bytesOfHex(body.replace(/=\r\n/g, '')), 'latin1').toString()
        : body
  return decoded.replace(/\r\n/g, '\n').replace(/\n$/, '')
}

/** Decodes once, because the decoded text may look encoded. */
function decodedWords(value: string): string {
  const words = /=\?utf-8\?([qb])\?([^?]*)\?=(?:[ \t]+(?==\?))?/gi
  const bytes = value.replace(words, (_, kind: string, text: string) =>
    kind.toLowerCase() === 'b' ? Buffer.from(text, 'base64').toString('latin1') : bytesOfHex(text.replaceAll('_', ' ')),
  )
  return Buffer.from(bytes, 'latin1').toString()
}

function bytesOfHex(text: string): string {
  return text.replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}
