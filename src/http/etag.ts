/** Whether `If-None-Match` contains this entity tag, or `*`. RFC 9110 §13.1.2: weak comparison. */
export function matchesEtag(header: string, etag: string): boolean {
  return header === '*' || header.split(',').some((known) => known.trim().replace(/^W\//, '') === etag)
}
