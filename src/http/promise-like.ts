/** Takes a step with a value now, or when its promise is fulfilled. Makes no promise for a value that is there. */
export function onward<T, U>(value: T | Promise<T>, step: (value: T) => U | Promise<U>): U | Promise<U> {
  return isPromiseLike(value) ? value.then(step) : step(value)
}

/** What may be waited for, or is there already: then no promise is made for it. */
export function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as { then?: unknown } | undefined)?.then === 'function'
}
