/** Runs a step with a value now, or when its promise is fulfilled. Makes no promise for an available value. */
export function onward<T, U>(value: T | Promise<T>, step: (value: T) => U | Promise<U>): U | Promise<U> {
  return isPromiseLike(value) ? value.then(step) : step(value)
}

/** A value or its promise: no promise is made for an available value. */
export function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as { then?: unknown } | undefined)?.then === 'function'
}
