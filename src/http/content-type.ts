/**
 * Whether a `Content-Type` is one of the given types. Parameters are allowed, but a charset must be UTF-8: all bodies
 * are read as UTF-8.
 */
export function isContentType(header: string, wanted: readonly string[]): boolean {
  const [type = '', ...parameters] = header.toLowerCase().split(';')
  if (!wanted.includes(type.trim())) return false
  return parameters.every((parameter) => {
    const [name = '', value = ''] = parameter.split('=')
    return name.trim() !== 'charset' || /^"?utf-?8"?$/.test(value.trim())
  })
}

/**
 * `application/json`, `application/merge-patch+json`: the text is parsed. Bodies of other types are passed on as bytes.
 */
export function isJsonType(header: string): boolean {
  const type = (header.split(';')[0] ?? '').trim().toLowerCase()
  return type === 'application/json' || type.endsWith('+json')
}
