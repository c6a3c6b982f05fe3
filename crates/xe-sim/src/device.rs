//! The simulated device: dispatch of requests to the objects of the xe driver.
