/** Whether `If-None-Match` names an entity tag, or any. RFC 9110 §13.1.2: compared weakly. */
export function isEtagNamed(header: string, etag: string): boolean {
  return header === '*' || header.split(',').some((known) => known.trim().replace(/^W\//, '') === etag)
}
