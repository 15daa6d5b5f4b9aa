/** Which answer has which entity tag, for who changes what he has read: beside the answers, which are as they came. */
const tags = new WeakMap<object, string>()

/** The answer, and from now on its tag is known. */
export function tagged(answer: unknown, headers: Headers): unknown {
  const tag = headers.get('etag')
  if (tag && answer && typeof answer === 'object') tags.set(answer, tag)
  return answer
}

/**
 * The entity tag of something that `call` answered: with it as `ifMatch` it is changed only if nobody else did meanwhile,
 * else that is refused with 412. Undefined for what has none. RFC 9110 §13.1.1
 */
export function etagOf(answer: unknown): string | undefined {
  return tags.get(answer as object)
}
